#!/usr/bin/env python3
"""Watching the scheduler: what an event costs, how much is seen at the highest rate, whether counts and maxima are those
of perf sched timehist, and what of the host is looked at always.

REQUIREMENTS   root, perf, two CPUs
USAGE          python3 benchmarks/host_tracing.py build/release/gradsync-doctor [--repeats 6] [--turns 40000]
               [--only cost,coverage,accuracy,always-on] [--seconds 4]
OVERHEAD       perf writes some 10 MB for each of its turns into a temporary folder and removes them

Cost: a pinned ping-pong over two pipes, in turn with nothing, with eBPF, with our perf rings and with perf record, over and
over in one window. A turn is a token there and back. Its events are what the kernel counts of the two processes: every
switch, and the wake-up that ends every voluntary one. The cost of an event is (CPU time of both processes with the tracer −
the same with nothing beside it) / events: CPU time, so that a neighbour on the CPU is not counted. perf record takes the
events that sched needs (switch, waking, wakeup_new); ours take those and the interrupts'. Ratios are of medians, the spread
is the 10th and 90th percentile. Targets: eBPF <= 0.45 and rings <= 0.90 of perf record's cost.

Coverage: the same ping-pong by perf bench sched pipe, as fast as it goes. Target: >= 99.9 % of the events that came.

Accuracy: eBPF, rings and perf record watch the same run at the same time: threads that sleep and live through all of it, on
CPUs that are busy. Each of ours is held against what perf sched timehist says of its window (not perf sched latency, which in
perf 6.1 ignores sched_waking). Untold: runs of which perf's data has the end and no begin. Targets: wake-ups within
max(2, 1 %), maxima within 50 us.

Always on: the threads of run that look at /proc, interfaces and counters, when nothing else is on; their CPU time by
/proc/TID/schedstat, and as the report tells it. Target: < 0.1 % of one CPU. Asserts nothing.
"""
import argparse
import json
import os
import re
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
        self.events, self.lost, self.seen = int(report["facts"]["sched.trace_events"]), entry["lost"], entry["reason"]
        self.coverage = "%d events: %s; %d lost" % (self.events, self.seen.split(":", 1)[1].split(";")[0].strip(), self.lost)


def spread(sample):
    if len(sample) < 2:
        return sample[0], sample[0]
    deciles = statistics.quantiles(sample, n=10)
    return deciles[0], deciles[-1]


def cost(options, folder):
    turn_us = {mode: [] for mode in MODES}
    event_ns = {mode: [] for mode in MODES[1:]}
    coverage = {}
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


def coverage(options, folder):
    """perf's own ping-pong is written in C: some four times as many events a second as ours."""
    for mode in MODES[1:3]:
        with Traced(mode, options.program, folder) as traced:
            began = time.monotonic()
            done = subprocess.run(["taskset", "-c", str(CPU), "perf", "bench", "sched", "pipe", "-l", str(5 * options.turns)],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            seconds = time.monotonic() - began
        found = re.search(r"([\d.]+) usecs/op", done.stdout)
        switches = re.search(r"([\d.]+) % of the switches", traced.seen)
        print("%-12s %9.0f events/s at %s us a turn: %s %% of the switches, %d of %d events lost; %s (target: >= 99.9 %%)"
              % (mode, traced.events / seconds, found.group(1) if found else "?", switches.group(1) if switches else "?",
                 traced.lost, traced.events,
                 "%.3f %% seen" % (100 * (1 - traced.lost / max(traced.events + traced.lost, 1)))))


SLEEPER = """
import os, sys, time
os.sched_setaffinity(0, {int(sys.argv[1])})
while True: time.sleep(float(sys.argv[2]))"""


def busy_machine(sleeps):
    """One spinner on each CPU, and on each a sleeper of each length: (all of them, name by pid of the sleepers)."""
    cpus, all_of_them, names = sorted(os.sched_getaffinity(0)), [], {}
    for cpu in cpus:
        all_of_them.append(subprocess.Popen(["taskset", "-c", str(cpu), sys.executable, "-c", "while True: pass"]))
        for length in sleeps:
            sleeper = subprocess.Popen([sys.executable, "-c", SLEEPER, str(cpu), str(length)])
            all_of_them.append(sleeper)
            names[sleeper.pid] = "%g ms on CPU %d" % (length * 1e3, cpu)
    return all_of_them, names


def timehist(data, pids):
    """{pid: [(moment on the CPU in s, delay after the wake-up in us)]} of runs that followed a sleep."""
    text = subprocess.run(["perf", "sched", "timehist", "-i", data, "--state", "--tid", ",".join(map(str, pids))],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    runs, slept = {pid: [] for pid in pids}, {}
    line = re.compile(r"^\s*([\d.]+) \[\d+\]\s+.*\[(\d+)(?:/\d+)?\]\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)\s+(\S+)")
    for found in filter(None, map(line.match, text.splitlines())):
        pid, left, delay, ran = int(found[2]), float(found[1]), float(found[4]), float(found[5])
        if pid in runs and slept.get(pid, False):
            runs[pid].append((left - ran * 1e-3, delay * 1e3))
        slept[pid] = not found[6].startswith("R")
    return runs


def untold(data, pids):
    """{pid: [moments in s]} at which a thread left a CPU to which, by perf's own data, it had not come: a switch of which no
    tracepoint told anybody. timehist counts such a run, which begins nowhere; we do not."""
    text = subprocess.run(["perf", "script", "-i", data, "--ns", "-F", "time,event,trace"], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True).stdout
    moments, running = {pid: [] for pid in pids}, {}
    line = re.compile(r"^\s*([\d.]+):\s+sched:sched_switch: .* prev_pid=(\d+) .* next_pid=(\d+)")
    for found in filter(None, map(line.match, text.splitlines())):
        left, came = int(found[2]), int(found[3])
        if left in moments and not running.get(left, True):
            moments[left].append(float(found[1]))
        running[left], running[came] = False, True
    return moments


def table(report, name):
    series = [one for one in report["series"] if one["name"] == name][0]
    return [dict(zip(series["columns"], row)) for row in series["rows"]]


def accuracy(options, folder):
    data, reports = os.path.join(folder, "perf.data"), {tier: os.path.join(folder, tier + ".json") for tier in "AB"}
    everybody, names = busy_machine((0.001, 0.005, 0.02))
    try:
        time.sleep(0.5)
        # Whoever begins later sees less: perf begins first and ends last.
        perf = subprocess.Popen(["perf", "record", "-q", "-a", "-m", "4096", "-k", "CLOCK_MONOTONIC", "-e", PERF, "-o", data],
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        everybody.append(perf)
        time.sleep(1.5)
        ours = [subprocess.Popen([options.program, "sched", "--tier", tier, "--duration", "%gs" % options.seconds, "--json",
                                  report], stdout=subprocess.DEVNULL) for tier, report in reports.items()]
        for one in ours:
            one.wait()
        time.sleep(0.5)
        perf.send_signal(signal.SIGINT)
        perf.wait()
    finally:
        for one in everybody:
            one.kill()
            one.wait()
    runs, gaps = timehist(data, list(names)), untold(data, list(names))
    lost = re.search(r"LOST events:\s+(\d+)", subprocess.run(["perf", "report", "-i", data, "--stats"], text=True,
                                                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout)
    print("%g s, a spinner on each of %d CPUs; perf record has %s records of losses" % (options.seconds, os.cpu_count(),
                                                                                    lost.group(1) if lost else "no"))
    print("%-20s %-6s %36s %30s" % ("thread", "tier", "wake-ups: ours, timehist, untold", "longest us: ours, timehist"))
    worst = {}
    for tier, path in reports.items():
        with open(path) as file:
            report = json.load(file)
        begin, end = map(float, report["facts"]["sched.trace_window_s"].split())
        rows = {row["thread"].rsplit(":", 1)[1]: row for row in table(report, "sched") if row["source"] != "/proc"}
        for pid, name in names.items():
            delays = [delay for at, delay in runs[pid] if begin <= at - delay * 1e-6 and at <= end]
            row = rows.get(str(pid))
            if row is None or row["max_us"] is None or not delays:
                print("%-20s %-6s not compared: too few wake-ups were seen" % (name, tier))
                continue
            nowhere = sum(begin <= at <= end for at in gaps[pid])
            apart, longest = abs(row["count"] + nowhere - len(delays)), abs(row["max_us"] - max(delays))
            fits = "" if apart <= max(2, 0.01 * len(delays)) and longest <= 50 else "   <- apart"
            worst[tier] = [max(pair) for pair in zip(worst.get(tier, [0, 0]), (apart, longest))]
            print("%-20s %-6s %12d %13d %9d %15.1f %14.1f%s" % (name, tier, row["count"], len(delays), nowhere,
                                                                row["max_us"], max(delays), fits))
    for tier, (apart, longest) in worst.items():
        print("tier %s: at most %d wake-ups and %.1f us apart (targets: max(2, 1 %%), 50 us)" % (tier, apart, longest))


JOB = """
import threading, time
for _ in range(32): threading.Thread(target=time.sleep, args=({seconds},)).start()
time.sleep({seconds})"""


def cpu_of_threads(pid):
    """Of a process's threads but the first: {(name, tid): ns on a CPU}."""
    spent_ns = {}
    for tid in os.listdir("/proc/%d/task" % pid):
        folder = "/proc/%d/task/%s/" % (pid, tid)
        try:
            with open(folder + "schedstat") as stat, open(folder + "comm") as name:
                spent_ns[name.read().strip(), tid] = int(stat.read().split()[0])
        except OSError:
            continue
    return {thread: ns for thread, ns in spent_ns.items() if thread[1] != str(pid)}


def always_on(options, folder):
    seconds = max(30, 5 * options.seconds)
    report = os.path.join(folder, "run.json")
    doctor = subprocess.Popen([options.program, "run", "-o", os.path.join(folder, "recording"), "--budget", "0", "--deep",
                               "off", "--nccl", "off", "--json", report, "--", sys.executable, "-c",
                               JOB.format(seconds=seconds)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(3)
    before, began = cpu_of_threads(doctor.pid), time.monotonic()
    time.sleep(seconds - 6)
    after, ended = cpu_of_threads(doctor.pid), time.monotonic()
    doctor.wait()
    with open(report) as file:
        facts = json.load(file)["facts"]
    share = {thread: 100e-9 * (after[thread] - before.get(thread, 0)) / (ended - began) for thread in sorted(after)}
    looks = [percent for (name, _), percent in share.items() if name == "gsd-look"]
    others = [percent for (name, _), percent in share.items() if name != "gsd-look"]
    told = [float(facts[name]) for name in ("host.sampler_cpu_percent", "host.nic_cpu_percent") if name in facts]
    print("a job of 33 threads, %.0f s, from its 3rd second on: looks at /proc, interfaces and counters %.4f %% of one CPU (%s; "
          "target: < 0.1 %%), the watch over the job's processes %.4f %%; the looks by the report, start included: %.3f %%"
          % (seconds, sum(looks), " + ".join("%.4f" % percent for percent in looks), sum(others), sum(told)))


PARTS = {"cost": cost, "coverage": coverage, "accuracy": accuracy, "always-on": always_on}


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("program")
    options.add_argument("--repeats", type=int, default=6)
    options.add_argument("--turns", type=int, default=40000)
    options.add_argument("--seconds", type=float, default=4)
    options.add_argument("--only", default=",".join(PARTS))
    options = options.parse_args()
    if os.geteuid() != 0 or not shutil.which("perf"):
        sys.exit("host_tracing: needs root and perf")
    folder = tempfile.mkdtemp(prefix="gsd-host-tracing-")
    try:
        for name in options.only.split(","):
            print("-- %s" % name, flush=True)
            PARTS[name](options, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
