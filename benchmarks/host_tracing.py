#!/usr/bin/env python3
"""What an event costs the thread it comes in, by way of watching the scheduler: a pinned ping-pong over two pipes, in turn
with nothing, with eBPF, with our perf rings and with perf record, over and over in one window.

REQUIREMENTS   root, perf, two CPUs
USAGE          python3 benchmarks/host_tracing.py build/release/gradsync-doctor [--repeats 6] [--turns 40000]
OVERHEAD       perf writes some 10 MB for each of its turns into a temporary folder and removes them

A turn is a token there and back. Its events are what the kernel counts of the two processes: every switch, and the
wake-up that ends every voluntary one. The cost of an event is (CPU time of both processes with the tracer − the same with
nothing beside it) / events: CPU time, so that a neighbour on the CPU is not counted. perf record takes the events that
sched needs (switch, waking, wakeup_new); ours take those and the interrupts'. Ratios are of medians, the spread is the
10th and 90th percentile. Targets: eBPF <= 0.45 and rings <= 0.90 of perf record's cost. Asserts nothing.
"""
import argparse
import json
import os
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

CPU = 1 if os.cpu_count() > 1 else 0
PERF = "sched:sched_switch,sched:sched_waking,sched:sched_wakeup_new"
MODES = ("nothing", "eBPF", "rings", "perf record")


def spent():
    """Of this process and its dead children: CPU seconds; switches and wake-ups."""
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return (sum(one.ru_utime + one.ru_stime for one in both), sum(2 * one.ru_nvcsw + one.ru_nivcsw for one in both))


def ping_pong(turns):
    """(seconds of CPU, events) of `turns` tokens there and back between two processes of one CPU."""
    before = spent()
    there, back = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.sched_setaffinity(0, {CPU})
            for _ in range(turns):
                os.read(there[0], 1)
                os.write(back[1], b"x")
        finally:
            os._exit(0)
    os.sched_setaffinity(0, {CPU})
    for _ in range(turns):
        os.write(there[1], b"x")
        os.read(back[0], 1)
    os.waitpid(child, 0)
    for end in there + back:
        os.close(end)
    os.sched_setaffinity(0, range(os.cpu_count()))
    return [b - a for a, b in zip(before, spent())]


class Traced:
    """A tracer that runs beside the ping-pong; afterwards `coverage` tells how much of what came it saw."""

    def __init__(self, mode, program, folder):
        self.mode, self.folder, self.program, self.running = mode, folder, program, None
        self.coverage = None

    def __enter__(self):
        self.report, self.data = os.path.join(self.folder, "sched.json"), os.path.join(self.folder, "perf.data")
        if self.mode == "perf record":
            command = ["perf", "record", "-q", "-a", "-m", "512", "-e", PERF, "-o", self.data]
        elif self.mode != "nothing":
            command = [self.program, "sched", "--tier", "A" if self.mode == "eBPF" else "B", "--duration", "10min", "--json",
                       self.report]
        else:
            return self
        self.running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(0.7)
        return self

    def __exit__(self, *_):
        if self.running is None:
            return
        self.running.send_signal(signal.SIGINT)
        self.running.wait()
        if self.mode == "perf record":
            text = subprocess.run(["perf", "report", "-i", self.data, "--stats"], stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, text=True).stdout
            numbers = {}
            for line in text.splitlines():
                if " events:" in line:
                    numbers.setdefault(line.split(" events:")[0].strip(), line.split(":")[1].split()[0])
            self.coverage = "%s samples, %s records of losses" % (numbers.get("SAMPLE", 0), numbers.get("LOST", 0))
            os.unlink(self.data)
            return
        with open(self.report) as file:
            report = json.load(file)
        entry = [one for one in report["coverage"] if one["source"] == "scheduler"][0]
        wanted = "A" if self.mode == "eBPF" else "B"
        if entry["tier"] != wanted:
            sys.exit("host_tracing: no tier %s here: %s" % (wanted, report["coverage"]))
        self.coverage = "%s events: %s; %d lost" % (report["facts"]["sched.trace_events"],
                                                    entry["reason"].split(":", 1)[1].split(";")[0].strip(), entry["lost"])


def spread(sample):
    if len(sample) < 2:
        return sample[0], sample[0]
    deciles = statistics.quantiles(sample, n=10)
    return deciles[0], deciles[-1]


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("program")
    options.add_argument("--repeats", type=int, default=6)
    options.add_argument("--turns", type=int, default=40000)
    options = options.parse_args()
    if os.geteuid() != 0 or not shutil.which("perf"):
        sys.exit("host_tracing: needs root and perf")
    folder = tempfile.mkdtemp(prefix="gsd-host-tracing-")
    turn_us = {mode: [] for mode in MODES}
    event_ns = {mode: [] for mode in MODES[1:]}
    coverage = {}
    try:
        ping_pong(options.turns // 4)
        for _ in range(options.repeats):
            for mode in MODES:
                with Traced(mode, options.program, folder) as traced:
                    seconds, events = ping_pong(options.turns)
                turn_us[mode].append(seconds / options.turns * 1e6)
                if mode == "nothing":
                    bare = seconds
                else:
                    event_ns[mode].append((seconds - bare) / events * 1e9)
                    coverage[mode] = traced.coverage
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print("%d turns x %d, all modes in turn, on CPU %d of %d" % (options.turns, options.repeats, CPU, os.cpu_count()))
    print("%-12s %12s %12s %22s %16s   %s" % ("mode", "us per turn", "ns per event", "p10 .. p90", "of perf record", "seen"))
    reference = statistics.median(event_ns["perf record"])
    for mode in MODES:
        if mode == "nothing":
            print("%-12s %12.2f" % (mode, statistics.median(turn_us[mode])))
            continue
        median, (low, high) = statistics.median(event_ns[mode]), spread(event_ns[mode])
        ratio = "%.2f" % (median / reference) if reference > 0 else "-"
        print("%-12s %12.2f %12.0f %10.0f .. %8.0f %16s   %s" % (mode, statistics.median(turn_us[mode]), median, low, high,
                                                               ratio, coverage[mode]))


if __name__ == "__main__":
    main()
