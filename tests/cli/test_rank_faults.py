#!/usr/bin/env python3
"""One rank of two is held up from outside while the job runs: by hogs on its CPU, by a CPU quota, by SIGSTOP. Each fault has
its own finding, and the others stay away. What a test changes it puts back, also when it fails."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest

import doctor

PYTHON = os.environ.get("GSD_TORCH_PYTHON")
CGROUP = pathlib.Path("/sys/fs/cgroup/cpu")
MARK = f"GSD_FAULT_TEST=rank-faults-{os.getpid()}"


def read(path):
    try:
        return pathlib.Path(path).read_bytes()
    except OSError:  # it has ended
        return b""


def cpu_seconds(pid):
    words = read(f"/proc/{pid}/schedstat").split()
    return int(words[0]) * 1e-9 if words else 0


def ranks_of_this_test():
    """The processes of this test's ranks, by rank."""
    ranks = {}
    for process in pathlib.Path("/proc").iterdir():
        if process.name.isdigit():
            environment = read(process / "environ").split(b"\0")
            rank = [int(word[5:]) for word in environment if word.startswith(b"RANK=")]
            if rank and MARK.encode() in environment:
                ranks[rank[0]] = int(process.name)
    return ranks


@unittest.skipUnless(PYTHON, "no Python with torch was found")
@unittest.skipUnless(os.geteuid() == 0, "needs root")
class RankFaults(doctor.TestCase):
    def run_with(self, fault, steps):
        """The report of a healthy job to whose rank 1 `fault` happens once both ranks train."""
        name, value = MARK.split("=")
        report, output = self.folder / "report.json", self.folder / "output"
        with open(output, "w", encoding="utf-8") as file:
            running = subprocess.Popen([doctor.PROGRAM, "run", "--deep", "off", "--json", report, "--", PYTHON,
                                        doctor.ROOT / "samples/ddp_healthy.py", "--steps", str(steps)],
                                       env=self.environment(**{name: value}), stdout=file, stderr=subprocess.STDOUT)
        self.addCleanup(running.wait)
        self.addCleanup(running.terminate)
        while running.poll() is None and "planted: " not in output.read_text():  # its last words before the first step
            time.sleep(0.02)
        ranks = ranks_of_this_test()
        self.assertEqual({0, 1}, set(ranks), output.read_text())
        begin = cpu_seconds(ranks[1])
        while running.poll() is None and cpu_seconds(ranks[1]) < begin + 1:  # past the steps that warm up
            time.sleep(0.02)
        if running.poll() is not None:
            self.skipTest("the sample is too short for this machine")
        happened = fault(ranks)
        self.assertEqual(0, running.wait(timeout=200), output.read_text())
        parsed = json.loads(report.read_text())
        if self.entry(parsed, "scheduler")["tier"] == "C":
            self.skipTest("the scheduler cannot be traced here")
        return parsed, happened

    @staticmethod
    def metrics(report):
        return {(metric["name"], metric["scope"]): metric["value"] for metric in report["metrics"]}

    @unittest.skipIf(os.cpu_count() < 2, "needs two CPUs")
    def test_hogs_on_the_cpu_of_one_rank(self):
        cpus = sorted(os.sched_getaffinity(0))

        def fault(ranks):
            for rank, pid in ranks.items():
                for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
                    os.sched_setaffinity(int(task.name), {cpus[rank]})
            for _ in range(3):
                hog = subprocess.Popen(["taskset", "-c", str(cpus[1]), sys.executable, "-c", "while True: pass"])
                self.addCleanup(hog.wait)
                self.addCleanup(hog.kill)

        report, _ = self.run_with(fault, 60)
        found = [one for one in report["findings"] if one["state"] == "fired" and not one.get("folded_under")]
        self.assertEqual(("comm-thread-starved", "rank:1"), (found[0]["rule"], found[0]["scope"]), doctor.fired(report))
        self.assertRegex(found[0]["says"], r"That explains \d+(\.\d+)? % of the exposed communication")
        values = self.metrics(report)
        self.assertGreater(values["sched.starved_ms", "rank:1"], values["sched.starved_ms", "rank:0"])
        self.assertGreater(values["sched.starved_percent", "rank:1"], 20)
        self.assertIn("had the CPU", report["facts"]["sched.held_up_by"])
        self.assertNotIn("cpu-quota", doctor.fired(report))

    @unittest.skipUnless((CGROUP / "cpu.cfs_quota_us").exists() and os.access(CGROUP, os.W_OK),
                         "needs the cpu controller of control groups, version 1")
    def test_a_quota_of_one_rank(self):
        group = CGROUP / f"gsd-faults-{os.getpid()}"
        group.mkdir()
        self.addCleanup(group.rmdir)
        (group / "cpu.cfs_quota_us").write_text("6000")  # of 100000: less than what neighbours leave it

        def fault(ranks):
            (group / "cgroup.procs").write_text(str(ranks[1]))

        report, _ = self.run_with(fault, 40)
        self.assertIn("cpu-quota", doctor.fired(report))
        self.assertIn(group.name, report["facts"]["sched.quota"])
        values = self.metrics(report)
        self.assertGreater(values["sched.throttled_percent", "all"], 30)
        self.assertGreater(values["sched.held_up_ms", "rank:1"], values["sched.held_up_ms", "rank:0"])

    def test_a_stopped_rank_is_not_called_scheduling(self):
        def fault(ranks):
            try:
                os.kill(ranks[1], signal.SIGSTOP)
                time.sleep(5)  # looks at the states of threads are a second apart or more
            finally:
                os.kill(ranks[1], signal.SIGCONT)
            return 5

        report, stopped_s = self.run_with(fault, 80)
        self.assertIn("was stopped by a signal", report["facts"]["sched.stopped"])
        # Time in which it was stopped is none in which it waited for a CPU, whoever else was busy here meanwhile.
        steps = [one for one in report["series"] if one["name"] == "steps"][0]
        rows = [dict(zip(steps["columns"], cells)) for cells in steps["rows"]]
        longest = max((row for row in rows if row["rank"] == 1), key=lambda row: row["time_ms"])
        self.assertGreater(longest["time_ms"], 0.9e3 * stopped_s)
        self.assertLess(longest["sched_irq_ms"], 0.5e3 * stopped_s)
        waited = max((row for row in rows if row["rank"] == 0), key=lambda row: row["time_ms"])
        self.assertLess(waited["sched_irq_ms"], 0.5e3 * stopped_s)  # nor is the other's wait for its peer
        self.assertNotIn("cpu-quota", doctor.fired(report))


if __name__ == "__main__":
    unittest.main()
