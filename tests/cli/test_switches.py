"""Without root: switches of the job's own threads in run. Threads that share a CPU are preempted, one that has it alone is
hardly ever; as root the tier is used where the trace of the machine is not."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest

import doctor

TURNS = """
    import os, time
    cpu = min(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cpu})
    child = os.fork()
    while time.process_time() < 0.5: pass
    if child == 0: os._exit(0)
    os.wait()"""
PYTHON = shutil.which("python3", path="/usr/bin:/bin") or sys.executable  # one that everybody may run
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


@unittest.skipUnless(os.geteuid() == 0 and shutil.which("setpriv"), "needs root and setpriv to give root up")
class Switches(doctor.TestCase):
    def report(self, code):
        folder = tempfile.mkdtemp(dir="/tmp")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        os.chmod(folder, 0o777)
        path = os.path.join(folder, "report.json")
        environment = dict(os.environ, HOME=folder, XDG_STATE_HOME=folder)
        done = subprocess.run([*NOBODY, doctor.PROGRAM, "run", "--json", path, "--", PYTHON, "-c",
                               textwrap.dedent(code)], env=environment, cwd=folder, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)
        if done.returncode != 0 or not os.path.exists(path):
            self.skipTest("the program cannot be run by another user here: " + done.stderr)
        with open(path) as file:
            return json.load(file)

    def scheduler(self, report):
        entries = {e["source"]: e for e in report["coverage"]}
        if entries["scheduler trace"]["state"] != "unavailable":
            self.skipTest("another user may trace the machine here")
        if "switch records" not in entries["scheduler"]["reason"]:
            self.skipTest("refused: " + entries["scheduler"]["reason"])
        return entries["scheduler"]

    def test_two_processes_that_share_a_cpu_preempt_each_other(self):
        report = self.report(TURNS)
        entry = self.scheduler(report)
        self.assertEqual(("C", "partial"), (entry["tier"], entry["state"]))
        self.assertIn("CAP_PERFMON", entry["hint"])
        series = [s for s in report["series"] if s["name"] == "preemptions"][0]
        rows = [dict(zip(series["columns"], cells)) for cells in series["rows"]]
        both = [row for row in rows if row["count"] >= 10]
        self.assertGreaterEqual(len(both), 2, rows)
        self.assertTrue(all(row["longest_wake_us"] is None for row in rows))
        # Some of the time it was the other one, and not the rest of this machine.
        self.assertTrue(any(row["preempted_by"].startswith("python") for row in both)
                        or all(row["preempted_by"] == "other programs" for row in both), rows)
        # Sums of /proc stay: the records know nothing of waits after wake-ups.
        sums = [s for s in report["series"] if s["name"] == "sched"][0]
        self.assertTrue(any(row[sums["columns"].index("source")] == "/proc" for row in sums["rows"]))
        names = {metric["name"] for metric in report["metrics"]}
        self.assertNotIn("sched.starved_percent", names)

    def test_check_names_the_tier(self):
        done = subprocess.run([*NOBODY, doctor.PROGRAM, "check", "--json", "-"], stdout=subprocess.PIPE, text=True, cwd="/")
        if not done.stdout:
            self.skipTest("the program cannot be run by another user here")
        entries = {e["source"]: e for e in json.loads(done.stdout)["coverage"]}
        if entries["scheduler trace"]["state"] != "unavailable":
            self.skipTest("another user may trace the machine here")
        self.assertIn("switch records", entries)


if __name__ == "__main__":
    unittest.main()
