#!/usr/bin/env python3
"""Runs a job of samples/problems under `run --quality` and looks for the findings that samples/README.md expects of it.

  check_problem.py DOCTOR PROBLEM PYTHON

The machine may be busy: a run that does not show it is repeated, three times at most. --healthy N instead of a problem
runs N healthy trainings and counts findings about gradients; there must be none. Exit status 77 = skipped.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "samples/problems"
ARGUMENTS = {"zero_stage": ["--deepspeed_config", str(FOLDER / "zero2.json")]}
ABOUT_GRADIENTS = ("window-cosine-low norm-decay starved-layers k-zero hook-selfcheck residual-diverges fp16-underflow "
                   "fp16-overflow non-finite-gradients rank-divergence compression-memory-peak late-noise "
                   "zero-stage-conflict slow-link-rank").split()


def expected_findings(problem):
    for line in (ROOT / "samples/README.md").read_text().splitlines():
        cells = [cell.strip().strip("`") for cell in line.strip("|").split("|")]
        if len(cells) >= 3 and re.fullmatch(r"problems/" + re.escape(problem) + r"\.py", cells[0]):
            return cells[2].split("`, `")
    sys.exit("samples/README.md does not list problems/" + problem)


def observe(doctor, python, job, beside=None):
    """The rules that fired, and the facts."""
    other = subprocess.Popen(beside) if beside else None
    try:
        with tempfile.TemporaryDirectory(prefix="gsd-problem-") as folder:
            report = folder + "/report.json"
            done = subprocess.run([doctor, "run", "--quality", "-q", "-o", folder + "/recording", "--json", report, "--",
                                   python, *job], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=500)
            if done.returncode != 0 or not os.path.exists(report):
                sys.exit("the job failed with %d\n%s" % (done.returncode, done.stdout))
            with open(report) as file:
                found = json.load(file)
    finally:
        if other:
            other.terminate()
            other.wait()
    return [finding["rule"] for finding in found["findings"] if finding["state"] == "fired"], found["facts"]


def check_problem(doctor, problem, python):
    expected = expected_findings(problem)
    beside = [python, str(FOLDER / "slow_rank.py"), "--hog", "120"] if problem == "slow_rank" else None
    for attempt in ("first", "second", "third"):
        fired, facts = observe(doctor, python, [str(FOLDER / (problem + ".py")), *ARGUMENTS.get(problem, [])], beside)
        print(problem, attempt, "run:", ", ".join(fired) or "no finding", "·", facts.get("quality.state"))
        if set(expected) <= set(fired):
            return
    sys.exit("expected: " + ", ".join(expected))


def check_healthy(doctor, count, python):
    kinds, wrong, judged = ("fp16", "topk", "dense", "none"), 0, 0
    for number in range(count):
        kind = kinds[number % len(kinds)]
        fired, facts = observe(doctor, python, [str(FOLDER / "healthy.py"), "--hook", kind, "--seed", str(number)])
        about = [rule for rule in fired if rule in ABOUT_GRADIENTS]
        wrong += bool(about)
        judged += facts.get("quality.state") == "running"
        print("healthy", number, kind, "·", facts.get("quality.state"), "·", ", ".join(about) or "silent", flush=True)
    print("%d healthy trainings, %d judged to the end, %d with findings about gradients" % (count, judged, wrong))
    sys.exit(1 if wrong else 0)


def main():
    doctor, problem, *rest = sys.argv[1:]
    if not rest or not rest[-1]:
        print("skipped: no Python with torch was found (make test TORCH_PYTHON=/path/to/python)")
        sys.exit(77)
    if problem == "--healthy":
        check_healthy(doctor, int(rest[0]), rest[1])
    check_problem(doctor, problem, rest[-1])


if __name__ == "__main__":
    main()
