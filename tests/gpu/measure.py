#!/usr/bin/env python3
"""Runs jobs on this machine's GPU under the doctor, checks what it recorded, measures what that costs, prints a table.

usage: measure.py BUILD [--out FILE] [--rounds N] [--idle SECONDS] [--elements N] [--job OPTIONS]

BUILD   a build folder with tests, from any machine; nothing is built here
Exit status: 0 all that could be judged is as it must be, 1 something is not.
"""
import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from datetime import date
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "inject")]

import checks  # noqa: E402
import kernels  # noqa: E402
import overhead  # noqa: E402
from spool import spools_of  # noqa: E402

JOB, NCCL_JOB = HERE / "job.py", HERE / "nccl_job.py"
WHOLE, WINDOW = ["--deep", "cupti", "--steps", "all"], ["--deep", "cupti"]


class Bench:
    def __init__(self, build, job_options):
        self.doctor, self.job_options = build / "gradsync-doctor", job_options

    def run(self, doctor, job, script=JOB, **environment):
        """(exit status, what the job printed or {}, the spools). Without `doctor` options the job runs alone."""
        with tempfile.TemporaryDirectory(prefix="gsd-gpu-") as folder:
            recording = Path(folder) / "recording"
            command = [sys.executable, str(script), *(self.job_options if script == JOB else []), *job]
            if doctor:
                command = [str(self.doctor), "run", "-q", "-o", str(recording), *doctor, "--", *command]
            done = subprocess.run(command, capture_output=True, text=True, timeout=900, env={**os.environ, **environment})
            lines = [line for line in done.stdout.splitlines() if line.startswith('{"')]
            if done.returncode and not lines and "--kill-at" not in job:
                print(done.stderr[-2000:], file=sys.stderr)
            return done.returncode, json.loads(lines[-1]) if lines else {}, spools_of(recording) if doctor else []

    def checks(self, idle):
        """(name, passed, text) of each thing that must hold on a real card."""
        _, saw, spools = self.run(WINDOW, [])
        yield "injection, one window", *checks.collected(spools)
        _, saw, spools = self.run([*WINDOW, "--counters"], ["--hook"])
        yield "counters of a compressing hook", *checks.counters(spools)
        _, saw, spools = self.run(WHOLE, ["--idle-after", "20", "--idle", str(idle)])
        yield "injection, whole run", *checks.collected(spools)
        yield ("clocks", *checks.clock(spools, saw)) if saw.get("idle_ns") else ("clocks", False, "the job failed")
        for name, steps in (("before", "2:6"), ("in", "12:16"), ("after", "24:28")):
            _, saw, spools = self.run(WINDOW, ["--profile", steps])
            yield f"torch.profiler {name} our window", *checks.shares_with_profiler(spools, saw)
        for name, doctor, whole in (("window", WINDOW, False), ("whole run", WHOLE, True)):
            _, _, spools = self.run(doctor, ["--graph"])
            yield f"graph replay, {name}", *checks.graph_kernels(spools, whole)
        status, _, spools = self.run(WHOLE, ["--idle-after", "20", "--idle", "2", "--kill-at", "25"])
        yield "SIGKILL", *checks.survives_kill(spools, status)
        _, saw, spools = self.run(WHOLE, ["--workers", "2"])
        yield "forked DataLoader", *checks.leaves_workers_alone(spools, saw)

    def step_cost(self, rounds):
        def run(arm):
            job = ["--steps", str(overhead.STEPS), *arm.job]
            return self.run(arm.doctor, job, GSD_CUPTI_CALLS=arm.calls)[1].get("step_ms")

        return overhead.rows(overhead.measure(run, overhead.ARMS, rounds))

    def plugin_cost(self, rounds):
        def run(arm):
            environment = {} if os.environ.get("GSD_GPUS", "1") != "1" else {"NCCL_MULTI_RANK_GPU_ENABLE": "1"}
            return self.run(arm.doctor, [], NCCL_JOB, **environment)[1].get("step_ms")

        return overhead.rows(overhead.measure(run, overhead.NCCL_ARMS, rounds))

    def kernels(self, n):
        with tempfile.TemporaryDirectory(prefix="gsd-gpu-") as folder:
            report = Path(folder) / "bench.json"
            command = [str(self.doctor), "bench", "--device", "cuda", "--no-save", "-q", "--n", str(n), "--json", str(report)]
            if subprocess.run(command, capture_output=True).returncode not in (0, 10):
                return [("kernels of loads/", None, "bench could not run here")]
            peer = subprocess.run([sys.executable, str(HERE / "kernels.py"), str(n)], capture_output=True, text=True)
            if peer.returncode:
                return [("kernels of loads/", None, "torch.topk could not run here")]
            peer = json.loads(peer.stdout)
            return [*kernels.rows(json.loads(report.read_text()), peer),
                    ("torch.topk, copy", True, f"{peer['topk_ms']:.3f} ms, {peer['copy_gb_s']:.0f} GB/s")]  # fmt: skip


def versions():
    import torch

    nccl = ".".join(map(str, torch.cuda.nccl.version())) if torch.cuda.is_available() else "none"
    driver = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"],
                            capture_output=True, text=True).stdout.strip().replace("\n", "; ")  # fmt: skip
    return f"{date.today()}  {driver}  torch {torch.__version__}, CUDA {torch.version.cuda}, NCCL {nccl}, {platform.release()}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("--out", type=Path, help="also write the table here")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--idle", type=float, default=15)
    parser.add_argument("--elements", type=int, default=25_600_000)
    parser.add_argument("--job", default="", help="more options for job.py")
    options = parser.parse_args()
    bench = Bench(options.build, options.job.split())
    lines, failed = [versions(), ""], []

    def add(name, passed, text):
        word = {True: "ok", False: "FAILED", None: "-"}[passed]
        lines.append(f"{name:<38} {word:<7} {text}")
        print(lines[-1], flush=True)
        if passed is False:
            failed.append(name)

    print(lines[0])
    for row in bench.checks(options.idle):
        add(*row)
    for row in bench.kernels(options.elements):
        add(*row)
    for title, cost in (("a step, against nothing:", bench.step_cost), ("1 MiB all-reduce, 2 ranks:", bench.plugin_cost)):
        add(title, None, "")
        for name, text in cost(options.rounds):
            add("  " + name, None, text)
    if options.out:
        options.out.write_text("\n".join(lines) + "\n")
    print(f"{len(failed)} failed" + (": " + ", ".join(failed) if failed else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
