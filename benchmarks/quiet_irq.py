#!/usr/bin/env python3
"""How often `irq` finds something on a machine where nothing is wrong. Every finding is a false alarm, so leave the machine
alone while this runs. Prints each finding and the count; the exit status is 1 when there was any.

    quiet_irq.py [--runs 20] [--duration 5]
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

PROGRAM = os.environ.get("GSD_DOCTOR") or pathlib.Path(__file__).resolve().parents[1] / "build/release/gradsync-doctor"


def findings(duration, folder):
    done = subprocess.run([PROGRAM, "irq", "--duration", duration, "--json", "-", "--journal", folder], check=True,
                          stdout=subprocess.PIPE, text=True)
    report = json.loads(done.stdout)
    tiers = [entry["tier"] for entry in report["coverage"] if entry["source"] == "interrupt times"]
    return [f"{one['rule']}: {one['says']}" for one in report["findings"] if one["state"] == "fired"], tiers


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--duration", default="5", help="of each, as irq takes it (default %(default)s s)")
    options = parser.parse_args()
    quiet = 0
    with tempfile.TemporaryDirectory() as folder:
        for number in range(options.runs):
            found, tiers = findings(options.duration, folder)
            quiet += not found
            for one in found:
                print(f"run {number + 1}: {one}")
    load = os.getloadavg()[0]
    print(f"quiet machine: no finding in {quiet} of {options.runs} runs of {options.duration} s "
          f"(tier {'/'.join(tiers) or 'none'}, load average {load:.1f}); target: all")
    return 0 if quiet == options.runs else 1


sys.exit(main())
