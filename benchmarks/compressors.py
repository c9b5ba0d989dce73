#!/usr/bin/env python3
"""The reference compressors beside torch.topk and std::nth_element: one process, one thread, one vector.

usage: compressors.py LIBRARY [--n 25600000] [--ratio 0.01] [--rounds 15]

Every round measures the bandwidth of this memory (PyTorch's, in pages of its choice) and then each candidate once, so a ratio is taken within a round: what else
the machine does slows both sides. Times are CPU time of the one thread, so that being preempted, which happens to long
calls more than to short ones, does not count; waiting for memory does. The table has medians, their 10 % and 90 % quantiles over the rounds, and the ratios'
median. torch.topk(sorted=False) gets magnitudes that are there already; the compressors take them on the way.
Checked in every round: the histogram sends between K and 1.25 K entries, none smaller than one it left out; the radix
select sends exactly K down to the magnitude that torch found.
"""

import argparse
import ctypes
import math
import os
import statistics
import sys
import time

try:
    import torch
except ImportError:
    torch = None

COMPRESSORS = ("topk_histogram", "topk_select", "dgc", "onebit_ef", "cast16")
# name, of what, at least
TARGETS = (("topk_histogram", "roofline", 60), ("topk_histogram", "torch.topk", 15), ("topk_select", "torch.topk", 6),
           ("onebit_ef", "roofline", 50))


def load_library(path):
    library = ctypes.CDLL(os.path.abspath(path))
    pointer, int64, double = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double
    for name, result, arguments in (("gsd_prepare", pointer, (ctypes.c_char_p, int64, double, ctypes.c_int)),
                                    ("gsd_compress", None, (pointer, pointer)),
                                    ("gsd_count", int64, (pointer,)),
                                    ("gsd_smallest", ctypes.c_float, (pointer,)),
                                    ("gsd_read", ctypes.c_uint32, (pointer, int64)),
                                    ("gsd_copy", None, (pointer, pointer, int64)),
                                    ("gsd_update", None, (pointer, int64)),
                                    ("gsd_roofline", double, (pointer, double, double, double)),
                                    ("gsd_nth_element", ctypes.c_float, (pointer, int64, int64, pointer))):
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


def milliseconds(call):
    begin = time.thread_time_ns()
    result = call()
    return (time.thread_time_ns() - begin) / 1e6, result


def check(holds, what):
    if not holds:
        sys.exit(f"wrong result: {what}")


def measure(library, n, ratio, rounds):
    k = math.ceil(n * ratio)
    x = torch.randn(n, generator=torch.Generator().manual_seed(1))
    magnitudes, scratch = x.abs(), torch.empty(n)
    from_here, to_here = x.data_ptr(), scratch.data_ptr()
    handles = {name: library.gsd_prepare(name.encode(), n, ratio, 1) for name in COMPRESSORS}
    check(all(handles.values()), "no memory for the loads")
    times = {name: [] for name in ("torch.topk", "std::nth_element", *COMPRESSORS)}
    shares, speeds, counts = {name: [] for name in COMPRESSORS}, [], []
    for number in range(rounds + 1):  # the first warms up
        now = {}
        memory = [milliseconds(call)[0] / 1e3 for call in (lambda: library.gsd_read(from_here, n),
                                                           lambda: library.gsd_copy(from_here, to_here, n),
                                                           lambda: library.gsd_update(to_here, n))]
        speeds.append([bytes_of * n / seconds / 1e9 for bytes_of, seconds in zip((4, 8, 8), memory)])
        share = {}
        for name, handle in handles.items():
            now[name], _ = milliseconds(lambda: library.gsd_compress(handle, from_here))
            share[name] = 100e3 * library.gsd_roofline(handle, *memory) / now[name]
        now["torch.topk"], top = milliseconds(lambda: torch.topk(magnitudes, k, sorted=False))
        now["std::nth_element"], nth = milliseconds(
            lambda: library.gsd_nth_element(magnitudes.data_ptr(), n, k, to_here))
        smallest = top.values.min().item()
        check(nth == smallest, "std::nth_element and torch.topk differ")
        check(library.gsd_count(handles["topk_select"]) == k, "radix select does not send K")
        check(library.gsd_smallest(handles["topk_select"]) == smallest, "radix select and torch.topk differ")
        count = library.gsd_count(handles["topk_histogram"])
        check(k <= count <= 1.25 * k, f"the histogram sends {count} of K = {k}")
        least = library.gsd_smallest(handles["topk_histogram"])
        check((magnitudes >= least).sum().item() == count, "the histogram leaves out larger ones than it sends")
        if number == 0:
            continue
        for name, value in now.items():
            times[name].append(value)
        for name, value in share.items():
            shares[name].append(value)
        counts.append(count / k)
    return times, shares, speeds[1:], counts


def spread(values):
    ordered = sorted(values)
    at = lambda q: ordered[min(len(ordered) - 1, round(q * (len(ordered) - 1)))]
    return f"{at(0.1):8.2f} … {at(0.9):8.2f}"


def main(arguments):
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("--n", type=int, default=25_600_000)
    parser.add_argument("--ratio", type=float, default=0.01)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args(arguments)
    if torch is None:
        print("skipped: this Python has no torch", file=sys.stderr)
        return 0
    torch.set_num_threads(1)
    times, shares, speeds, counts = measure(load_library(options.library), options.n, options.ratio, options.rounds)
    median = statistics.median
    print(f"{options.n} floats, K = {100 * options.ratio:g} %, one thread, {options.rounds} rounds, "
          f"torch {torch.__version__}; load of the machine {os.getloadavg()[0]:.1f}")
    read, copy, update = (median(column) for column in zip(*speeds))
    print(f"memory, GB/s: read {read:.1f}, copy {copy:.1f}, rewrite in place {update:.1f}\n")
    print(f"{'':<18}{'CPU ms':>9}   {'p10 … p90':>19}{'roofline':>11}{'torch.topk':>12}{'nth_element':>13}")
    for name, values in times.items():
        faster = [median(other / own for other, own in zip(times[reference], values))
                  for reference in ("torch.topk", "std::nth_element")]
        share = f"{median(shares[name]):.0f} %" if name in shares else ""
        print(f"{name:<18}{median(values):>9.2f}   {spread(values)}{share:>11}{faster[0]:>10.1f} ×{faster[1]:>11.1f} ×")
    print(f"\ntopk_histogram sends {min(counts):.3f} to {max(counts):.3f} of K")
    for name, of, least in TARGETS:
        value = median(shares[name] if of == "roofline" else
                       [other / own for other, own in zip(times[of], times[name])])
        print(f"{'reached' if value >= least else 'MISSED':<8} {name}: {value:.1f} {'%' if of == 'roofline' else '×'} "
              f"of {of}, target {least}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
