#!/usr/bin/env python3
"""Predicted against measured: every case of cases.toml is predicted first, all predictions are written to a file, and
only then the changed jobs run. As root also over slow links between network namespaces."""
import argparse
import json
import os
import pathlib
import re
import socket
import statistics
import subprocess
import tempfile
import time
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
LAB = HERE.parents[1] / "samples/lab/two_hosts.py"
CANNOT = 77
LAUNCH = """
import os, subprocess, sys
ranks = [subprocess.Popen([sys.executable, *sys.argv[2:]], env=dict(os.environ, RANK=str(r), LOCAL_RANK=str(r)))
         for r in range(int(sys.argv[1]))]
sys.exit(max(rank.wait() for rank in ranks))
"""

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("doctor", type=os.path.abspath)
parser.add_argument("python", help="with torch")
parser.add_argument("--edited-step", type=os.path.abspath, help="benchmarks/edited_step, for the planted edits")
parser.add_argument("--folder", type=pathlib.Path, help="for reports and predictions (default: a new one)")
parser.add_argument("--rounds", type=int, default=3, help="measurements of each job (default %(default)s)")
parser.add_argument("--only", default="", help="a part of the cases' names")
parser.add_argument("--steps", type=int, help="instead of those of cases.toml")
options = parser.parse_args()
DOCTOR, PYTHON = options.doctor, options.python
FOLDER = options.folder or pathlib.Path(tempfile.mkdtemp(prefix="gsd-prediction-"))
FOLDER.mkdir(parents=True, exist_ok=True)
PLAN = tomllib.loads((HERE / "cases.toml").read_text())
PLAN["job"]["steps"] = options.steps or PLAN["job"]["steps"]
CASES = [case for case in PLAN["case"] if options.only in case["name"]]
PLANTED = [case for case in PLAN["planted"] if options.only in case["name"]]


class CannotRun(Exception):
    """Why a case is not run here."""


def ranks_of(case):
    return case.get("ranks", PLAN["job"]["ranks"])


def network(case):
    return f"{case.get('rate', 'loopback')}-{ranks_of(case)}"


def launched(case, command):
    """`command` on every rank of the case's network, as one process that starts them."""
    if "rate" in case:
        return [PYTHON, str(LAB), "--rate", case["rate"], *command]
    return [PYTHON, "-c", LAUNCH, str(ranks_of(case)), *command]


def job(case, how):
    words = [str(HERE / "job.py")]
    for name in ("steps", "width", "layers", "batch"):
        words += [f"--{name}", str(PLAN["job"][name])]
    for name, value in how.items():
        words += ["--" + name.replace("_", "-")] + ([] if value is True else [str(value)])
    return launched(case, words)


def environment(case):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    return dict(os.environ, XDG_STATE_HOME=str(FOLDER / "state"), OMP_NUM_THREADS="1", GLOO_SOCKET_IFNAME="lo",
                WORLD_SIZE=str(ranks_of(case)), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))


def call(case, words):
    done = subprocess.run(list(map(str, words)), env=environment(case), text=True, capture_output=True, timeout=900)
    if done.returncode == CANNOT:
        raise CannotRun(done.stderr.strip())
    if done.returncode != 0:
        raise CannotRun(f"status {done.returncode}: {(done.stderr or done.stdout).strip()[-300:]}")
    return done


def measured(case, how):
    """Median step of the job by its own clock, ms."""
    lines = call(case, job(case, how)).stdout.splitlines()
    return json.loads(next(line for line in lines if line.startswith("{")))["median_ms"]


def fabric(case):
    """The report of a sweep of the case's network, made once."""
    report = FOLDER / f"fabric-{network(case)}.json"
    if not report.exists():
        sweep = [DOCTOR, "sweep", "-q", "--no-save", "--backend", "gloo", "--json", report, "--max-time", "90s",
                 "--op", "all_reduce,all_gather"]
        # the lab's link lets 256 KB pass at once: messages that are not much larger say nothing of its rate. More
        # sizes than doubling gives, for now and then one of them meets losses, and of four one is enough to spoil the line
        slow = ["--min", "1M", "--max", "8M", "--sizes", "1536K,3M,6M"]
        quick = ["--max", "16M", "--ranks", ranks_of(case)]  # of halves up to a sixteenth, which reaches four times further
        call(case, launched(case, [*sweep, *slow]) if "rate" in case else [*sweep, *quick])
    return report


def observed(number, case):
    recording = FOLDER / f"job{number}"
    call(case, [DOCTOR, "run", "-q", "--deep", "off", "-o", recording, "--", *job(case, case["before"])])
    return recording


def predicted(number, case):
    """The job before the change, observed, and what its remedy should save."""
    if (FOLDER / "loads.json").stat().st_size == 0:
        raise CannotRun("no loads were measured")
    curve, recording, table = fabric(case), observed(number, case), FOLDER / f"whatif{number}.json"
    call(case, [DOCTOR, "whatif", recording, "--fabric", curve, "--loads", FOLDER / "loads.json", "--json", table])
    document = json.loads(table.read_text())
    step = next((m["value"] for m in document["metrics"] if m["name"] == "step.time_ms" and m["scope"] == "all"), None)
    rows = [dict(zip(s["columns"], row)) for s in document["series"] if s["name"] == "whatif" for row in s["rows"]]
    row = next((row for row in rows if row["remedy"] == case["remedy"]), None)
    if row is None or row["kind"] != "predicted":
        facts = document["facts"]
        raise CannotRun(facts.get("whatif.why") or facts.get("whatif.fabric") or (row or {}).get("needs") or "no such remedy")
    return {"step_ms": step, "needs": row["needs"], "saved_ms": row["p50"], "interval": [row["p05"], row["p95"]]}


def planted(number, case):
    if options.edited_step is None:
        raise CannotRun("needs --edited-step")
    curve, recording = fabric(case), observed(f"-planted{number}", case)
    told = json.loads(call(case, [options.edited_step, recording, curve, case["edit"]]).stdout)
    saved = told["step_ms"] - told["edited_ms"]
    return {"step_ms": told["step_ms"], "needs": case["edit"], "saved_ms": saved, "interval": [saved, saved]}


def told(cases, predict):
    """Each with what was predicted, or why nothing was."""
    for number, case in enumerate(cases):
        try:
            yield {"case": case["name"], **predict(number, case)}
        except (CannotRun, StopIteration, ValueError, subprocess.TimeoutExpired) as why:
            yield {"case": case["name"], "why": str(why)}


def compared(case, prediction):
    """Runs both jobs in turn, for the machine drifts; prints the row and returns how far off it was, in percent."""
    if "saved_ms" not in prediction:
        print(f"{case['name']}: not predicted ({prediction['why']})", flush=True)
        return None
    after = dict(case["after"])
    if after["bucket_mb"] == "predicted":
        after["bucket_mb"] = re.search(r"bucket_cap_mb=(\d+)", prediction["needs"])[1]
    try:
        rounds = [(measured(case, case["before"]), measured(case, after)) for _ in range(options.rounds)]
    except (CannotRun, StopIteration, ValueError, subprocess.TimeoutExpired) as why:
        print(f"{case['name']}: not measured ({why})", flush=True)
        return None
    before, now = (statistics.median(values) for values in zip(*rounds))
    scale = before / prediction["step_ms"]  # the job runs without the doctor now, on the same machine at another time
    expected = before - prediction["saved_ms"] * scale
    low, high = prediction["interval"]
    off = 100 * (expected - now) / now
    print(f"{case['name']}: {before:.1f} ms (observed {prediction['step_ms']:.1f}); predicted {expected:.1f} "
          f"(saves {prediction['saved_ms']:.1f}, {low:.1f} … {high:.1f}), measured {now:.1f} "
          f"({min(now for _, now in rounds):.1f} … {max(now for _, now in rounds):.1f}): {off:+.0f} %", flush=True)
    return off


def main():
    began = time.monotonic()
    base = {"ranks": PLAN["job"]["ranks"]}
    call(base, [DOCTOR, "bench", "--n", "1M", "-q", "--json", FOLDER / "loads.json"])
    predictions = {"cases": list(told(CASES, predicted)), "planted": list(told(PLANTED, planted))}
    (FOLDER / "predictions.json").write_text(json.dumps(predictions, indent=1))
    print(f"predictions: {FOLDER / 'predictions.json'}", flush=True)
    cores = len(os.sched_getaffinity(0))
    counted = []
    for case, prediction in zip(CASES, predictions["cases"]):
        apart = ranks_of(case) > cores
        if apart:
            print("more ranks than cores, not counted:", end=" ")
        off = compared(case, prediction)
        if off is not None and not apart:
            counted.append(abs(off))
    if PLANTED:
        print("planted edits, not counted:")
    for case, prediction in zip(PLANTED, predictions["planted"]):
        compared(case, prediction)
    print(f"within 10 %: {sum(off <= 10 for off in counted)} of {len(counted)} predicted, {len(CASES)} cases; "
          f"{(time.monotonic() - began) / 60:.0f} minutes")


if __name__ == "__main__":
    main()
