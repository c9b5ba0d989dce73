#!/usr/bin/env python3
"""Reading the traces of a job and finding idle time and overlap: gradsync-doctor beside Holistic Trace Analysis.

REQUIREMENTS   GSD_HTA=/a/checkout/of/HolisticTraceAnalysis, and pandas, plotly, networkx for the Python that runs this
USAGE          python3 benchmarks/vs_hta.py GRADSYNC_DOCTOR [--megabytes 50 200] [--ranks 2] [--repeats 3]
OVERHEAD       writes ranks x megabytes into a temporary folder and removes it, for each size

Both get the same generated traces in the same run, each repeat in a process of its own so that its peak memory is its
own. HTA: TraceAnalysis(folder), get_comm_comp_overlap(), get_temporal_breakdown(). gradsync-doctor: `analyze FOLDER`, which
does more. Target: 60 x HTA. Prints a table and asserts nothing.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HTA = """
import sys, logging
logging.disable(logging.CRITICAL)
sys.path.insert(0, sys.argv[1])
from hta.trace_analysis import TraceAnalysis
analysis = TraceAnalysis(trace_dir=sys.argv[2])
overlap = analysis.get_comm_comp_overlap(visualize=False)
analysis.get_temporal_breakdown(visualize=False)
print(list(overlap.iloc[:, -1]))
"""


def write_trace(path, rank, ranks, megabytes):
    """Three steps of launches, kernels and all-reduces, over several lines each, as Kineto writes them."""
    with open(path, "w") as out:
        out.write('{"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": %d, "world_size": %d},\n'
                  '"traceEvents": [\n' % (rank, ranks))
        launches = max(300, int(megabytes * 1e6 / 1020))
        for step in range(3):
            out.write('{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#%d", "pid": 1, "tid": 2,'
                      ' "ts": %d, "dur": %d, "args": {"External id": 0}},\n'
                      % (step, 1000000 + step * launches * 3, launches * 3))
        for i in range(launches):
            ts, correlation = 1000000 + 9 * i, i + 10
            sends = i % 50 == 0
            kernel = ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)" if sends else
                      "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_%d<float> >" % (i % 90))
            for event in (
                    {"ph": "X", "cat": "cpu_op", "name": "aten::operator_%d" % (i % 200), "pid": 1, "tid": 2, "ts": ts,
                     "dur": 6, "args": {"External id": correlation, "Record function id": 0, "Ev Idx": i,
                                        "Input Dims": [[128, 1024], [1024], []], "Input type": ["float", "float", ""]}},
                    {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 2, "ts": ts + 1,
                     "dur": 3, "args": {"External id": correlation, "cbid": 211, "correlation": correlation}},
                    {"ph": "X", "cat": "kernel", "name": kernel, "pid": 0, "tid": 20 if sends else 7, "ts": ts + 5,
                     "dur": 200 if sends else 7,
                     "args": {"External id": correlation, "queued": 0, "device": 0, "context": 1,
                              "stream": 20 if sends else 7, "correlation": correlation, "registers per thread": 32,
                              "shared memory": 0, "blocks per SM": 1.5, "warps per SM": 3.0, "grid": [8, 1, 1],
                              "block": [544, 1, 1], "est. achieved occupancy %": 30}}):
                out.write(json.dumps(event, indent=1) + ",\n")
        out.write('{"ph": "i", "name": "Record Window End", "pid": 1, "tid": 2, "ts": 1, "s": "g"}]}\n')


def run_once(command):
    """(wall seconds, peak MiB) of a process."""
    start = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    errors = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = status
    if status != 0:
        sys.exit("vs_hta: %s failed: %s" % (command[0], errors.decode()[-800:]))
    return time.perf_counter() - start, usage.ru_maxrss / 1024


def compare(options, checkout, megabytes):
    folder = tempfile.mkdtemp(prefix="gsd-vs-hta-")
    try:
        for rank in range(options.ranks):
            write_trace(os.path.join(folder, "rank%d.json" % rank), rank, options.ranks, megabytes)
        size = sum(os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder)) / 1e6
        rows = {"gradsync-doctor analyze": [options.doctor, "analyze", folder],
                "HTA import + overlap": [sys.executable, "-c", HTA, checkout, folder]}
        taken = {name: [] for name in rows}
        for _ in range(options.repeats):          # taking turns
            for name, command in rows.items():
                taken[name].append(run_once(command))
        print("%d traces, %.0f MB together" % (options.ranks, size))
        print("%-26s %10s %20s %10s %10s %4s" % ("", "seconds", "fastest .. slowest", "MB/s", "peak MiB", "n"))
        medians = {}
        for name, runs in taken.items():
            seconds = sorted(run[0] for run in runs)
            medians[name] = statistics.median(seconds)
            print("%-26s %10.3f %9.3f .. %7.3f %10.1f %10.0f %4d" % (
                name, medians[name], seconds[0], seconds[-1], size / medians[name], max(run[1] for run in runs),
                len(runs)))
        print("ratio %.0f x" % (medians["HTA import + overlap"] / medians["gradsync-doctor analyze"]))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("doctor")
    options.add_argument("--megabytes", type=int, nargs="+", default=[50, 200], help="of each trace")
    options.add_argument("--ranks", type=int, default=2)
    options.add_argument("--repeats", type=int, default=3)
    options = options.parse_args()
    checkout = os.environ.get("GSD_HTA", "")
    if not os.path.isdir(os.path.join(checkout, "hta")):
        print("skipped: GSD_HTA names no checkout of Holistic Trace Analysis")
        return
    for megabytes in options.megabytes:
        compare(options, checkout, megabytes)


if __name__ == "__main__":
    main()
