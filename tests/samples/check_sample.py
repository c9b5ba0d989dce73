#!/usr/bin/env python3
"""Runs a sample under the doctor, or examines its stored recording, and compares the first finding with what
samples/README.md expects of it.

  check_sample.py DOCTOR SAMPLE -- CMD...              for real
  check_sample.py DOCTOR SAMPLE --recording FILE.tar.xz

"nothing" expects no finding at warning or above. A real run is judged on a machine that may be busy with other things:
one that disagrees is run again, three times at most, and all results are printed. Exit status 77 = skipped, with the reason.
"""
import json
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def expected_finding(sample):
    for line in (ROOT / "samples/README.md").read_text().splitlines():
        cells = [cell.strip().strip("`") for cell in line.strip("|").split("|")]
        if len(cells) >= 3 and re.fullmatch(re.escape(sample) + r"(\.py|\.cpp)?", cells[0]):
            return cells[2]
    sys.exit("samples/README.md does not list " + sample)


BUSY_PERCENT = 30  # of the time some thread waited for a CPU: others work here, and the job did starve


def first_finding(report):
    busy = (metric(report, "host.cpu_pressure_percent") or 0) > BUSY_PERCENT
    fired = [finding for finding in report["findings"] if finding["state"] == "fired"
             and not (busy and finding["rule"] == "comm-thread-starved")]
    return fired[0] if fired else None


def metric(report, name):
    return next((m["value"] for m in report["metrics"] if m["name"] == name and m["scope"] == "all"), None)


def check_bytes(sample, report):
    """Plain DDP is seen from outside only; what it sends per step is known: its parameters, four bytes each."""
    if sample == "ddp_healthy":
        expected = 4 * int(report["facts"]["ddp.parameters"])
        if metric(report, "comm.bytes_per_step") != expected:
            sys.exit("%s bytes per step, expected %d" % (metric(report, "comm.bytes_per_step"), expected))


def agrees(report, expected):
    first = first_finding(report)
    if expected.startswith("nothing"):
        return first is None or first["severity"] == "info"
    return first is not None and first["rule"] == expected


def describe(report):
    step = metric(report, "step.time_ms")
    fired = ["%s (%s, %s)" % (f["rule"], f["severity"], f["scope"]) for f in report["findings"] if f["state"] == "fired"]
    return "step %.1f ms, %d steps: %s" % (step if step else -1, report["run"]["steps"],
                                           ", ".join(fired) or "no finding")


def contradiction(report):
    """Two findings whose rules exclude each other, without one that is folded below the other or goes before it."""
    rules = {}
    for file in (ROOT / "rules").glob("step*.toml"):
        text = file.read_text()
        rules[re.search(r'^id\s*=\s*"(.*)"', text, re.M).group(1)] = {
            key: re.findall(r'"([^"]+)"', (re.search(r"^%s\s*=\s*\[(.*?)\]" % key, text, re.M | re.S) or [""])[0])
            for key in ("excludes", "before")}
    fired = [finding for finding in report["findings"] if finding["state"] == "fired" and finding["rule"] in rules]
    for a in fired:
        for b in fired:
            first, second = rules[a["rule"]], rules[b["rule"]]
            ordered = b["rule"] in first["before"] or a["rule"] in second["before"]
            folded = a.get("folded_under") == b["rule"] or b.get("folded_under") == a["rule"]
            if b["rule"] in first["excludes"] and not ordered and not folded:
                return "%s and %s exclude each other, and nothing says which is followed first" % (a["rule"], b["rule"])
    return None


def run(doctor, arguments):
    with tempfile.TemporaryDirectory(prefix="gsd-sample-") as folder:
        report = pathlib.Path(folder) / "report.json"
        command = [doctor, *arguments[:1], "--json", str(report), *arguments[1:]]
        if arguments[0] == "run":
            command[2:2] = ["-o", folder + "/recording"]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=500)
        if not report.exists():
            sys.exit("no report (status %d)\n%s" % (done.returncode, done.stdout))
        return json.loads(report.read_text()), done


def check_recording(doctor, sample, archive):
    with tempfile.TemporaryDirectory(prefix="gsd-recording-") as folder:
        with tarfile.open(archive) as tar:
            tar.extractall(folder)
        report, _ = run(doctor, ["show", folder + "/recording"])
    print(sample, "stored:", describe(report))
    check_bytes(sample, report)
    if contradiction(report):
        sys.exit(contradiction(report))
    return agrees(report, expected_finding(sample))


def check_real(doctor, sample, job):
    expected = expected_finding(sample)
    for attempt in ("first", "second", "third"):
        report, done = run(doctor, ["run", "--", *job])
        print(sample, attempt, "run:", describe(report))
        if done.returncode != 0:
            sys.exit("the sample failed with %d\n%s" % (done.returncode, done.stdout))
        check_bytes(sample, report)
        if agrees(report, expected):
            return True
    return False


def main():
    doctor, sample, how, *rest = sys.argv[1:]
    if how == "--recording":
        good = check_recording(doctor, sample, rest[0])
    else:
        if rest[0].endswith(".py"):
            print("skipped: no Python with torch was found (make test TORCH_PYTHON=/path/to/python)")
            sys.exit(77)
        if rest[0].endswith("-not-built"):
            print("skipped: nvtx3/nvToolsExt.h is not installed, so native_topk was not built")
            sys.exit(77)
        good = check_real(doctor, sample, rest)
    if not good:
        sys.exit("expected first: " + expected_finding(sample))


if __name__ == "__main__":
    main()
