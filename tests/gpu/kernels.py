"""Our kernels against torch.topk and the device's own copy, in one process after the other on the same card."""
import argparse
import json
import statistics
import sys


def timed_ms(call, repeats):
    import torch

    for _ in range(5):
        call()
    times = []
    for _ in range(repeats):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        call()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end))
    return statistics.median(times)


def peers(n, density, repeats):
    """{"topk_ms", "copy_gb_s"} of this card."""
    import torch

    values = torch.randn(n, device="cuda")
    target, wanted = torch.empty_like(values), int(density * n)
    copy = timed_ms(lambda: target.copy_(values), repeats)
    return {"topk_ms": timed_ms(lambda: values.abs().topk(wanted, sorted=False), repeats), "copy_gb_s": 8 * n / copy / 1e6}


def rows(bench, peer):
    """(name, passed, text) for the targets: histogram Top-K at 70 % of its roofline and 5 x torch.topk, 1-bit at 70 %."""
    metrics = {metric["name"]: metric["value"] for metric in bench["metrics"]}

    def row(load, versus):
        ms, share = metrics.get(f"load.{load}.cuda.ms"), metrics.get(f"load.{load}.cuda.roofline_percent")
        if ms is None or share is None:
            return load, None, "bench did not measure it"
        times = peer["topk_ms"] / ms
        text = f"{ms:.3f} ms, {share:.0f} % of its roofline" + (f", {times:.1f} x torch.topk" if versus else "")
        return load, share >= 70 and (times >= 5 or not versus), text

    return [row("topk_histogram", True), row("onebit_ef", False)]


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("n", type=int)
    parser.add_argument("--density", type=float, default=0.01)
    parser.add_argument("--repeats", type=int, default=50)
    options = parser.parse_args()
    json.dump(peers(options.n, options.density, options.repeats), sys.stdout)
