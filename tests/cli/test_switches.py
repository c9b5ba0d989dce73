"""Without root: switches of the job's own threads in run and sched. Threads that share a CPU are preempted, one that has it
alone is hardly ever; as root the tier is used where the trace of the machine is not. With capabilities and without root:
the best that they allow."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
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
        if self.entry(report, "scheduler trace")["state"] != "unavailable":
            self.skipTest("another user may trace the machine here")
        entry = self.entry(report, "scheduler")
        if "switch records" not in entry["reason"]:
            self.skipTest("refused: " + entry["reason"])
        return entry

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
        report = json.loads(done.stdout)
        if self.entry(report, "scheduler trace")["state"] != "unavailable":
            self.skipTest("another user may trace the machine here")
        self.entry(report, "switch records")


WITH_BPF = ["--inh-caps=+bpf,+perfmon", "--ambient-caps=+bpf,+perfmon"]
WITH_PERFMON = ["--inh-caps=+perfmon", "--ambient-caps=+perfmon"]


@unittest.skipUnless(os.geteuid() == 0 and shutil.which("setpriv"), "needs root and setpriv to give root up")
class Sched(doctor.TestCase):
    def setUp(self):
        super().setUp()
        os.chmod(self.folder, 0o777)

    def sched(self, *arguments, caps=()):
        """(what it printed, the report) of another user's sched."""
        report = self.folder / "sched.json"
        done = subprocess.run([*NOBODY, *caps, doctor.PROGRAM, "sched", "--json", str(report), *map(str, arguments)],
                              cwd="/", env=self.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode == 126 or "setpriv" in done.stderr:
            self.skipTest("the program cannot be run by another user here: " + done.stderr)
        self.assertEqual(0, done.returncode, done.stderr)
        with open(report) as file:
            return done.stdout, json.load(file)

    def skip_where_traced(self, report):
        """Of a trace there is no such entry when it runs."""
        if not any(entry["state"] == "unavailable" for entry in self.coverage(report, "scheduler trace")):
            self.skipTest("another user may trace the machine here")

    def assertSwitchRecords(self, text, report):
        self.skip_where_traced(report)
        scheduler = self.entry(report, "scheduler")
        if "switch records" not in scheduler["reason"]:
            refusal = self.entry(report, "scheduler switch records")
            self.assertRegex(refusal["hint"], "CAP_PERFMON|ulimit")
            self.skipTest("refused: " + refusal["reason"])
        self.assertEqual(("C", "partial"), (scheduler["tier"], scheduler["state"]))
        # What cannot be known has no column, and is null in the report.
        for absent in ("Wakeups", "Avg ms"):
            self.assertNotIn(absent, text)
        for present in ("Preempt", "Max ms", "Migr", "scheduler (tier C)", "try: run it as root, or with CAP_BPF and"):
            self.assertIn(present, text)
        sums = [series for series in report["series"] if series["name"] == "sched"][0]
        self.assertTrue(all(row[sums["columns"].index("count")] is None for row in sums["rows"]))

    def preempted(self, report):
        series = [s for s in report["series"] if s["name"] == "preemptions"][0]
        return [row for row in (dict(zip(series["columns"], cells)) for cells in series["rows"]) if row["count"] >= 10]

    def test_a_command(self):
        text, report = self.sched("--", PYTHON, "-c", textwrap.dedent(TURNS))
        self.assertSwitchRecords(text, report)
        both = self.preempted(report)
        self.assertGreaterEqual(len(both), 2, text)
        for row in both:
            self.assertRegex(text, r"(?m)^%s\s+[\d.]+\s+[\d.]+\s+%d\s" % (row["thread"], row["count"]))

    def test_a_process_of_this_user_with_threads_and_children_born_before_and_after(self):
        code = """
            import os, threading, time
            cpu = min(os.sched_getaffinity(0))
            os.sched_setaffinity(0, {cpu})
            end = time.monotonic() + 8
            def spin():
                while time.monotonic() < end: pass
            before = threading.Thread(target=spin)
            before.start()
            time.sleep(2)
            child = os.fork()
            spin()
            if child == 0: os._exit(0)"""
        job = subprocess.Popen([*NOBODY, PYTHON, "-c", textwrap.dedent(code)], cwd="/")
        self.addCleanup(job.wait)
        self.addCleanup(job.kill)
        time.sleep(1)
        text, report = self.sched("-p", job.pid, "--duration", "4s")
        self.assertSwitchRecords(text, report)
        threads = {row["thread"].rsplit(":", 1)[1] for row in self.preempted(report)}
        self.assertIn(str(job.pid), threads, text)
        self.assertGreaterEqual(len(threads), 3, text)

    def test_a_process_of_another_user_is_seen_in_proc_alone(self):
        text, report = self.sched("-p", os.getpid(), "--duration", "1s")
        self.skip_where_traced(report)
        self.assertIn("sums of /proc schedstat", self.entry(report, "scheduler")["reason"])
        self.assertIn("perf_event_paranoid", self.entry(report, "scheduler switch records")["reason"])
        self.assertNotIn("Preempt", text)
        self.assertIn("Wait ms", text)

    def test_capabilities_in_place_of_root(self):
        """CAP_BPF and CAP_PERFMON: eBPF. CAP_PERFMON alone: what it allows, which is not eBPF."""
        text, report = self.sched("--", "sleep", "0.5", caps=WITH_BPF)
        if "built without it" in str(report["coverage"]) or "does not describe its types" in str(report["coverage"]):
            self.skipTest("no eBPF here")
        self.assertEqual("A", self.entry(report, "scheduler")["tier"], report["coverage"])
        self.assertIn("Wakeups", text)
        text, report = self.sched("--", "sleep", "0.5", caps=WITH_PERFMON)
        tier = self.entry(report, "scheduler")["tier"]
        self.assertIn(tier, ("B", "C"))
        if tier == "C":
            refusal = self.entry(report, "scheduler trace")
            self.assertIn("cannot use eBPF", refusal["reason"])
            self.assertIn("CAP_BPF", refusal["hint"])


if __name__ == "__main__":
    unittest.main()
