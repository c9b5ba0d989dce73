#!/usr/bin/env python3
"""What the Python hook costs a training step: pairs of steps with and without it, in one process.

REQUIREMENTS   GSD_LIBRARY=/absolute/libgradsync_inject.so, a Python with torch.distributed
USAGE          python3 benchmarks/hook_overhead.py [--pairs 700] [--step-ms 5] [--hook none|topk] [--suspects]
OVERHEAD       none outside its own process; about 2.5 steps per pair

One rank, because two ranks wait for each other and their wall time hides half a percent. In every pair a coin says
which step comes first; after each switch one step runs untimed. Switching is one flag that every wrapper reads, so
no attribute of any class changes between the two. The A/A arm goes through the same motions and switches nothing:
its interval is what this machine can resolve. Medians of the paired differences with a 95 % bootstrap interval, of wall
time and of the processor time of the process: on a machine that others use, only the second one resolves anything.

--suspects adds arms that leave one part of the hook out, to see where the time goes, and measures one event with
warm and with cold caches. That is the answer to why a step costs ten times what micro-benchmarks add up to: a step
streams megabytes through the caches, and each of the few places per step where the hook runs then finds its code
and data cold. Leaving the library out changes nothing; the same event costs 0.4 us warm and 5 us or more after 64 MB.
"""
import argparse
import os
import random
import shutil
import statistics
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "collectors", "torch"))


def bootstrap(differences, draws=2000):
    """95 % interval of the median."""
    count = len(differences)
    medians = sorted(statistics.median(random.choices(differences, k=count)) for _ in range(draws))
    return medians[int(0.025 * draws)], medians[int(0.975 * draws) - 1]


class Job:
    """A training on one rank whose step takes about the wanted time."""

    def __init__(self, torch, hook, width, depth):
        import torch.distributed as dist
        self.torch, self.dist = torch, dist
        if not dist.is_initialized():
            dist.init_process_group("gloo", rank=0, world_size=1, init_method="file://" + os.path.join(FOLDER, "store"))
        torch.manual_seed(0)
        layers = [layer for _ in range(depth) for layer in (torch.nn.Linear(width, width), torch.nn.ReLU())]
        self.ddp = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*layers))
        if hook == "topk":
            self.ddp.register_comm_hook(None, self.topk_hook)
        self.optimizer = torch.optim.SGD(self.ddp.parameters(), lr=1e-4)
        batches = torch.utils.data.TensorDataset(torch.randn(64 * 4096, width)[:64 * 512])
        self.loader = torch.utils.data.DataLoader(batches, batch_size=64)
        self.batches = iter(())

    def topk_hook(self, state, bucket):
        gradient = bucket.buffer()
        chosen = gradient.abs().topk(gradient.numel() // 50).indices
        values = gradient[chosen].contiguous()
        parts, places = [self.torch.empty_like(values)], [self.torch.empty_like(chosen)]
        sent = self.dist.all_gather(parts, values, async_op=True)

        def rebuild(future):
            sent.wait()
            return self.torch.zeros_like(gradient).index_add_(0, places[0], parts[0])

        return self.dist.all_gather(places, chosen, async_op=True).get_future().then(rebuild)

    def step(self):
        batch = next(self.batches, None)
        if batch is None:
            self.batches = iter(self.loader)
            batch = next(self.batches)
        self.optimizer.zero_grad()
        loss = self.ddp(batch[0]).pow(2).mean()
        loss.backward()
        self.optimizer.step()
        return loss.item()


def fitting_job(torch, hook, wanted_ms):
    """Grows the model until a step takes the wanted time of a processor."""
    width, depth = 192, 2
    while True:
        job = Job(torch, hook, width, depth)
        for _ in range(8):
            job.step()
        times = []
        for _ in range(10):
            times.append(timed_step(job)[1] / 1e3)
        if statistics.median(times) >= 0.8 * wanted_ms or depth > 64:
            return job, statistics.median(times)
        if depth < 8:
            depth += 1
        else:
            width = int(width * 1.15)


def timed_step(job):
    """(wall, processor) microseconds of one step."""
    wall, processor = time.perf_counter_ns(), time.process_time_ns()
    job.step()
    return (time.perf_counter_ns() - wall) / 1e3, (time.process_time_ns() - processor) / 1e3


def pairs(job, count, switch):
    """(on, off) times of each pair, each a (wall, processor). `switch(on)` turns the hook on or off."""
    found = []
    for _ in range(count):
        times = {}
        for on in random.sample((True, False), 2):
            switch(on)
            job.step()
            times[on] = timed_step(job)
        found.append((times[True], times[False]))
    return found


def in_words(found, clock):
    """Median difference, its interval and both in percent of the step; clock 0 = wall, 1 = processor."""
    differences = [on[clock] - off[clock] for on, off in found]
    step = statistics.median(off[clock] for _, off in found)
    low, high = bootstrap(differences)
    middle = statistics.median(differences)
    return "%7.2f %8.1f [%7.1f, %7.1f] %6.2f %% [%5.2f, %5.2f]" % (
        step / 1e3, middle, low, high, 100 * middle / step, 100 * low / step, 100 * high / step)


def arms(state, steps, suspects):
    """(label, what is prepared for the arm, what is undone after it)."""
    from gradsync_hook import backward

    def on_off(on):
        state.on = state.active = state.armed = on

    def nothing(on):
        pass

    yield "A/A (switches nothing, hook on)", nothing, lambda: on_off(True), lambda: None
    yield "hook on - off", on_off, lambda: None, lambda: on_off(True)
    yield "A/A (switches nothing, hook off)", nothing, lambda: on_off(False), lambda: on_off(True)
    if not suspects:
        return

    def leave_out(owner, attribute, value):
        kept = getattr(owner, attribute)
        return (lambda: setattr(owner, attribute, value)), (lambda: setattr(owner, attribute, kept))

    parts = [("without the compute-end callback", backward, "_engine", None),
             ("without done callbacks", state, "follow_completion", False),
             ("without call sites", state, "find_call_sites", False)]
    for label, owner, attribute, value in parts:
        before, after = leave_out(owner, attribute, value)
        yield label, on_off, before, lambda after=after: (after(), on_off(True))
    library = state.library
    silent = {name: getattr(library, name) for name in ("begin", "end", "link", "attr_int", "attr_str", "event")}

    def mute():
        for name in silent:
            setattr(library, name, lambda *_: 0)

    def unmute():
        for name, function in silent.items():
            setattr(library, name, function)
        on_off(True)

    yield "Python part only (no call into the library)", on_off, mute, unmute


def one_event(torch, library):
    """(label, median ns, p10, p90) of begin + end with what lies between two events of a job in between."""
    from gradsync_hook.event_name import named
    what = named(5, 0, "benchmark").pack(0)
    rows = []
    for label, megabytes in (("warm caches", 0), ("after 8 MB of tensor work", 8), ("after 64 MB of tensor work", 64)):
        tensor = torch.ones(max(1, megabytes * 2 ** 18))
        times = []
        for _ in range(300):
            if megabytes:
                tensor.mul_(1.0)
            start = time.perf_counter_ns()
            library.end(library.begin(what, 0, 0))
            times.append(time.perf_counter_ns() - start)
        deciles = statistics.quantiles(times, n=10)
        rows.append((label, statistics.median(times), deciles[0], deciles[-1]))
    return rows


def main():
    global FOLDER
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--pairs", type=int, default=700)
    options.add_argument("--step-ms", type=float, default=5.0)
    options.add_argument("--hook", choices=("none", "topk"), default="none")
    options.add_argument("--suspects", action="store_true")
    options = options.parse_args()
    if not os.path.isfile(os.environ.get("GSD_LIBRARY", "")):
        sys.exit("hook_overhead: set GSD_LIBRARY to the absolute path of libgradsync_inject.so")
    FOLDER = tempfile.mkdtemp(prefix="gsd-overhead-")
    os.environ.update(GSD_RECORDING=FOLDER, GSD_DEEP="off", GSD_BUDGET="1000")
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")   # a BLAS thread that spins counts as ours
    for part in ("events", "hello"):
        os.mkdir(os.path.join(FOLDER, part))
    try:
        import gradsync_hook
        gradsync_hook.arm()
        import torch
        torch.set_num_threads(1)
        job, _ = fitting_job(torch, options.hook, options.step_ms)
        from gradsync_hook.state import state
        from gradsync_hook.steps import steps
        if not state.active:
            sys.exit("hook_overhead: the hook did not become active")
        print("torch %s, python %s, hook %s, %d pairs" % (torch.__version__, sys.version.split()[0], options.hook,
                                                          options.pairs))
        shape = "step ms       us   95 % interval     share   95 % interval"
        print("%-44s | wall: %s | processor: %s | self-timed us" % ("arm", shape, shape))
        for label, switch, before, after in arms(state, steps, options.suspects):
            before()
            number, cost = steps.number, sum(state.cost)
            found = pairs(job, options.pairs, switch)
            told = (sum(state.cost) - cost) / 1e3 / max(1, steps.number - number)
            after()
            print("%-44s | %s | %s | %.1f" % (label, in_words(found, 0), in_words(found, 1), told), flush=True)
        if options.suspects:
            print("\n%-46s %9s %20s" % ("one event (gsd_begin + gsd_end)", "ns median", "p10 .. p90"))
            for label, median, low, high in one_event(torch, state.library):
                print("%-46s %9.0f %9.0f .. %7.0f" % (label, median, low, high))
    finally:
        shutil.rmtree(FOLDER, ignore_errors=True)
    if job.dist.is_initialized():
        job.dist.destroy_process_group()


if __name__ == "__main__":
    main()
