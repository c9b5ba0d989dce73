"""Copies between user and kernel memory in run: large messages over a socket against small ones, and a process that copies
nothing. Orders and not times are asked for: a busy machine gives fewer samples, not other shares."""
import json
import os
import subprocess
import sys
import textwrap
import unittest

import doctor

PING = """
    import os, socket, time
    near, far = socket.socketpair()
    size, seconds = {size}, 1.5
    room = bytearray(size)
    def pull(s):
        left = size
        while left:
            part = s.recv_into(room, left)
            if not part: os._exit(0)
            left -= part
    if os.fork() == 0:
        near.close()
        while True: pull(far)
    far.close()
    data, end = b"x" * size, time.monotonic() + seconds
    while time.monotonic() < end:
        for _ in range(20): near.sendall(data)
    near.close()
    os.wait()"""
SPIN = "import time\nwhile time.process_time() < 1: pass"


def refused():
    if os.geteuid() != 0:
        return "needs root"
    done = subprocess.run([doctor.PROGRAM, "check", "--json", "-"], stdout=subprocess.PIPE, text=True)
    for entry in json.loads(done.stdout)["coverage"]:
        if entry["source"] == "user copies" and entry["state"] == "unavailable":
            return entry["reason"]
    return None


REFUSED = refused()


class Copies(doctor.TestCase):
    def report(self, code, *options, program=()):
        path = self.folder / "report.json"
        done = subprocess.run([*program, doctor.PROGRAM, "run", "--json", path, *options, "--", sys.executable, "-c",
                               textwrap.dedent(code)], env=self.environment(), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)
        self.assertEqual(0, done.returncode, done.stderr)
        return json.loads(path.read_text())

    @staticmethod
    def by_caller(report):
        series = [s for s in report["series"] if s["name"] == "usercopy"][0]
        rows = [dict(zip(series["columns"], cells)) for cells in series["rows"]]
        samples = sum(n for n in {row["tid"]: row["samples"] for row in rows}.values())
        return samples, {by: sum(r["copies"] for r in rows if r["by"] == by) for by in {r["by"] for r in rows}}

    @unittest.skipIf(REFUSED, REFUSED)
    def test_large_messages_are_copied_and_small_ones_are_not(self):
        large, large_by = self.by_caller(self.report(PING.format(size=256 * 1024)))
        small, small_by = self.by_caller(self.report(PING.format(size=64)))
        self.assertGreater(large, 100)
        self.assertGreater(small, 100)
        share = sum(large_by.values()) / large
        self.assertGreater(share, 0.04)
        self.assertGreater(share, 3 * sum(small_by.values()) / small)
        self.assertGreater(large_by.get("send", 0), 0)
        self.assertGreater(large_by.get("receive", 0), 0)

    @unittest.skipIf(REFUSED, REFUSED)
    def test_a_spinning_process_copies_nothing_and_has_no_finding(self):
        report = self.report(SPIN)
        samples, by = self.by_caller(report)
        self.assertGreater(samples, 100)
        self.assertLess(sum(by.values()), 0.02 * samples)
        fired = [f["rule"] for f in report["findings"] if f["state"] == "fired"]
        self.assertNotIn("user-copies", fired)
        self.assertNotIn("copy-bound", fired)
        entry = self.entry(report, "user copies")
        self.assertEqual("B", entry["tier"])
        self.assertRegex(entry["reason"], "(cycles|cpu-clock) at 999 Hz")
        self.assertIn("usercopy.sampler_cpu_ms", report["facts"])

    @unittest.skipUnless(os.geteuid() == 0 and subprocess.run(["setpriv", "--version"], stdout=subprocess.DEVNULL)
                         .returncode == 0, "needs root and setpriv to give root up")
    def test_without_root_it_says_why_not(self):
        done = subprocess.run(["setpriv", "--reuid=65534", "--clear-groups", doctor.PROGRAM, "check", "--json", "-"],
                              stdout=subprocess.PIPE, text=True, cwd="/")
        if not done.stdout:
            self.skipTest("the program cannot be run by another user here")
        entry = self.entry(json.loads(done.stdout), "user copies")
        self.assertEqual("unavailable", entry["state"])
        self.assertRegex(entry["reason"], "hidden|perf_event_paranoid")
        self.assertIn("root", entry["hint"])

    def test_no_budget_no_samples(self):
        report = self.report("pass", "--budget", "0")
        entry = self.entry(report, "user copies")
        self.assertEqual("unavailable", entry["state"])


if __name__ == "__main__":
    unittest.main()
