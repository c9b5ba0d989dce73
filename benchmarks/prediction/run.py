#!/usr/bin/env python3
"""Predicted against measured: every case of cases.toml is predicted first, all predictions are written to a file, and
only then the changed jobs run."""
import argparse
import json
import os
import pathlib
import re
import socket
import statistics
import subprocess
import tempfile
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("doctor", type=os.path.abspath)
parser.add_argument("python", help="with torch")
parser.add_argument("--folder", type=pathlib.Path, help="for reports and predictions (default: a new one)")
parser.add_argument("--rounds", type=int, default=3, help="measurements of each job (default %(default)s)")
parser.add_argument("--cases", type=int, help="only the first so many")
parser.add_argument("--steps", type=int, help="instead of those of cases.toml")
options = parser.parse_args()
DOCTOR, PYTHON = options.doctor, options.python
FOLDER = options.folder or pathlib.Path(tempfile.mkdtemp(prefix="gsd-prediction-"))
FOLDER.mkdir(parents=True, exist_ok=True)
PLAN = tomllib.loads((HERE / "cases.toml").read_text())
PLAN["case"] = PLAN["case"][:options.cases]
PLAN["job"]["steps"] = options.steps or PLAN["job"]["steps"]
ENVIRONMENT = dict(os.environ, XDG_STATE_HOME=str(FOLDER / "state"), OMP_NUM_THREADS="1", GLOO_SOCKET_IFNAME="lo")
LAUNCH = """
import os, subprocess, sys
ranks = [subprocess.Popen([sys.executable, *sys.argv[2:]], env=dict(os.environ, RANK=str(r), LOCAL_RANK=str(r)))
         for r in range(int(sys.argv[1]))]
sys.exit(max(rank.wait() for rank in ranks))
"""


def job(how):
    """The command of the job, as one process that starts the ranks."""
    words = [PYTHON, "-c", LAUNCH, str(PLAN["job"]["ranks"]), str(HERE / "job.py")]
    for name in ("steps", "width", "layers", "batch"):
        words += [f"--{name}", str(PLAN["job"][name])]
    for name, value in how.items():
        words += ["--" + name.replace("_", "-"), str(value)]
    return words


def environment():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    return dict(ENVIRONMENT, WORLD_SIZE=str(PLAN["job"]["ranks"]), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))


def call(words):
    return subprocess.run(list(map(str, words)), env=environment(), text=True, capture_output=True, timeout=900)


def measured(how):
    """Median step of the job by its own clock, ms."""
    return json.loads(call(job(how)).stdout.splitlines()[-1])["median_ms"]


def predicted(number, case):
    """The job before the change, observed, and what its remedy should save."""
    report = FOLDER / f"case{number}.json"
    call([DOCTOR, "run", "-q", "--json", report, "-o", FOLDER / f"case{number}", "--", *job(case["before"])])
    table = FOLDER / f"whatif{number}.json"
    call([DOCTOR, "whatif", FOLDER / f"case{number}", "--json", table])
    document = json.loads(table.read_text())
    step = next((m["value"] for m in document["metrics"] if m["name"] == "step.time_ms" and m["scope"] == "all"), None)
    rows = [dict(zip(s["columns"], row)) for s in document["series"] if s["name"] == "whatif" for row in s["rows"]]
    row = next((row for row in rows if row["remedy"] == case["remedy"]), None)
    if row is None or row["kind"] != "predicted":
        return {"case": case["name"], "step_ms": step, "why": document["facts"].get("whatif.why") or (row or {}).get("needs")}
    found = {"case": case["name"], "step_ms": step, "needs": row["needs"],
             **{key: row[key] for key in ("p05", "p50", "p95", "probability")}}
    return found


def main():
    call([DOCTOR, "sweep", "--backend", "gloo", "--ranks", PLAN["job"]["ranks"], "--op", "all_reduce,all_gather",
          "--min", "1K", "--max", "64M", "-q"])
    call([DOCTOR, "bench", "--n", "1M", "-q"])
    predictions = [predicted(number, case) for number, case in enumerate(PLAN["case"])]
    (FOLDER / "predictions.json").write_text(json.dumps(predictions, indent=1))
    print(f"predictions: {FOLDER / 'predictions.json'}", flush=True)
    within = judged = 0
    for case, told in zip(PLAN["case"], predictions):
        if "p50" not in told:
            print(f"{case['name']}: not predicted ({told['why']})", flush=True)
            continue
        after = dict(case["after"])
        if after["bucket_mb"] == "predicted":
            after["bucket_mb"] = re.search(r"bucket_cap_mb=(\d+)", told["needs"])[1]
        rounds = [(measured(case["before"]), measured(after)) for _ in range(options.rounds)]  # alternating: the machine drifts
        before, now = (statistics.median(values) for values in zip(*rounds))
        expected = before - told["p50"] * before / told["step_ms"]
        off = 100 * (expected - now) / now
        judged += 1
        within += abs(off) <= 10
        print(f"{case['name']}: {before:.1f} ms; predicted {expected:.1f} (saves {told['p50']:.1f}, {told['p05']:.1f} … "
              f"{told['p95']:.1f}), measured {now:.1f}: {off:+.0f} %", flush=True)
    print(f"within 10 %: {within} of {judged} predicted, {len(predictions)} cases")


if __name__ == "__main__":
    main()
