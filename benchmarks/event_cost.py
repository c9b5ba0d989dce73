#!/usr/bin/env python3
"""What one event costs the observed thread: nanoseconds per call from Python, as the hook makes them and by ctypes.

REQUIREMENTS   GSD_LIBRARY=/absolute/libgradsync_inject.so   (any CPython >= 3.7; no torch)
USAGE          python3 benchmarks/event_cost.py [--repeats 40] [--calls 2000]
OVERHEAD       writes about 50 MB into a temporary folder and removes it

The hook's calls are built-in functions (gradsync_hook/builtin_calls.py); ctypes is the peer, and what other
interpreters fall back to. First touches of the spool's memory are part of every row. Each row is the median over the repeats; the spread is the 10th and the 90th percentile of the repeats. The loop
itself is measured as `nothing` and taken off. Prints a table and asserts nothing.
"""
import argparse
import os
import shutil
import statistics
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "collectors", "torch"))


def per_call(statement, names, calls, repeats):
    """Medians of the loop over `statement`, minus nothing: nanoseconds per iteration, one per repeat."""
    source = ("def loop(calls, clock, %s):\n"
              "  start = clock()\n"
              "  for _ in range(calls):\n"
              "    %s\n"
              "  return clock() - start\n")
    scope = {}
    exec(source % (", ".join(names), statement), scope)
    loop = scope["loop"]
    loop(calls, time.perf_counter_ns, *names.values())
    return [loop(calls, time.perf_counter_ns, *names.values()) / calls for _ in range(repeats)]


def statements(library, slow):
    what = 5 | 2 << 8 | library.string("benchmark range") << 32   # GSD_WHAT of a backward range
    key, value = library.string("site"), library.string("train.py:1 in step")
    event = library.begin(what, 4096, 7)
    names = {"begin": library.begin, "end": library.end, "event": library.event, "attr": library.attr_str,
             "link": library.link, "slow_begin": slow.begin, "slow_event": slow.event, "what": what, "key": key, "value": value,
             "reference": event, "now": time.monotonic_ns}
    rows = [
        ("nothing", "pass"),
        ("clock", "now()"),
        ("gsd_begin", "begin(what, 4096, 7)"),
        ("gsd_end of an ended event", "end(reference)"),
        ("gsd_begin + gsd_end", "end(begin(what, 4096, 7))"),
        ("gsd_event", "event(what, 4096, 7, 1, 2)"),
        ("gsd_attr_str", "attr(reference, key, value)"),
        ("gsd_link", "link(reference, reference)"),
        ("gsd_begin by ctypes", "slow_begin(what, 4096, 7)"),
        ("gsd_event by ctypes", "slow_event(what, 4096, 7, 1, 2)"),
    ]
    return rows, names


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--repeats", type=int, default=40)
    options.add_argument("--calls", type=int, default=2000)
    options = options.parse_args()
    folder = tempfile.mkdtemp(prefix="gsd-event-cost-")
    os.makedirs(os.path.join(folder, "events"))
    os.environ["GSD_RECORDING"] = folder
    try:
        from gradsync_hook import transport
        try:
            library = transport.Library(os.environ.get("GSD_LIBRARY", ""))
            transport.builtin_calls = lambda _: {}
            slow = transport.Library(os.environ.get("GSD_LIBRARY", ""))
        except transport.Unavailable as why:
            sys.exit("event_cost: %s (set GSD_LIBRARY to the absolute path of libgradsync_inject.so)" % why)
        rows, names = statements(library, slow)
        print("python %s, %d calls x %d repeats" % (sys.version.split()[0], options.calls, options.repeats))
        print("%-28s %10s %18s" % ("call", "ns median", "p10 .. p90"))
        empty = 0.0
        for label, statement in rows:
            times = per_call(statement, names, options.calls, options.repeats)
            deciles = statistics.quantiles(times, n=10)
            median = statistics.median(times)
            if label == "nothing":
                empty = median
            print("%-28s %10.0f %8.0f .. %6.0f" % (label, median - empty, deciles[0] - empty, deciles[-1] - empty))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
