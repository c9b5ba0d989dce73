#!/usr/bin/env python3
"""Signals reach CMD, and a report still appears."""
import json
import os
import pathlib
import pty
import signal
import subprocess
import sys
import time
import unittest

import doctor

JOB = """
import signal, sys, time
def leave(number, frame):
    print("job got", number, flush=True)
    sys.exit(3)
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1):
    signal.signal(number, leave)
print("ready", flush=True)
time.sleep(60)
"""


class Signals(doctor.TestCase):
    def start(self, **how):
        return subprocess.Popen([doctor.PROGRAM, "run", "-q", "--", "/usr/bin/python3", "-c", JOB], env=self.environment(), **how)

    def test_a_signal_to_the_doctor_is_passed_on(self):
        for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT):
            with self.subTest(number):
                process = self.start(stdout=subprocess.PIPE, text=True)
                self.assertEqual("ready\n", process.stdout.readline())
                process.send_signal(number)
                rest, _ = process.communicate(timeout=60)
                self.assertEqual(3, process.returncode)
                self.assertIn("job got %d" % number, rest)
                self.assertIn("VERDICT", rest)

    def test_a_signal_that_ends_the_job_is_in_the_status(self):
        for number in (signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number):
                process = subprocess.Popen([doctor.PROGRAM, "run", "-q", "--", "sh", "-c", "echo ready; exec sleep 60"],
                                           env=self.environment(), stdout=subprocess.PIPE, text=True)
                self.assertEqual("ready\n", process.stdout.readline())
                process.send_signal(number)
                rest, _ = process.communicate(timeout=60)
                self.assertEqual(128 + number, process.returncode)
                self.assertIn("VERDICT", rest)

    def test_a_signal_ends_the_lingering(self):
        process = subprocess.Popen([doctor.PROGRAM, "run", "-q", "--json", str(self.folder / "report.json"), "--linger", "10min",
                                    "--", "sh", "-c", "sleep 20 >&2 & echo $!; exit 5"],
                                   env=self.environment(), stdout=subprocess.PIPE, text=True)
        left = int(process.stdout.readline())
        while self.parent(left) != process.pid:
            time.sleep(0.02)  # until the shell has ended and its child is the doctor's
        while self.catches(process.pid, signal.SIGINT):  # and no longer, when it makes the report
            process.send_signal(signal.SIGINT)  # one may come while the doctor still takes note of the shell's end
            time.sleep(0.1)
        process.communicate()
        os.kill(left, signal.SIGTERM)
        self.assertEqual(5, process.returncode)
        self.assertTrue(self.coverage(json.loads((self.folder / "report.json").read_text()), "processes left behind"))

    @staticmethod
    def catches(pid, number):
        masks = [line for line in pathlib.Path("/proc/%d/status" % pid).read_text().splitlines() if line.startswith("SigCgt:")]
        return bool(masks and int(masks[0].split()[1], 16) >> (number - 1) & 1)  # a process that has ended has none

    @staticmethod
    def parent(pid):
        return int(pathlib.Path("/proc/%d/stat" % pid).read_text().rpartition(")")[2].split()[1])

    def test_control_c_at_a_terminal(self):
        child, terminal = pty.fork()
        if child == 0:
            os.execve(doctor.PROGRAM, [doctor.PROGRAM, "run", "-q", "--", "/usr/bin/python3", "-c", JOB], self.environment())
        seen = b""
        try:
            while b"ready" not in seen:
                seen += os.read(terminal, 4096)
            os.write(terminal, b"\x03")
            while True:
                block = os.read(terminal, 4096)
                if not block:
                    break
                seen += block
        except OSError:
            pass  # the terminal is gone with its last process
        _, status = os.waitpid(child, 0)
        self.assertEqual(3, os.waitstatus_to_exitcode(status) if sys.version_info >= (3, 9) else status >> 8)
        self.assertEqual(1, seen.count(b"job got 2"))
        self.assertIn(b"VERDICT", seen)

    def test_killing_the_doctor_leaves_the_job_and_a_readable_recording(self):
        marker = self.folder / "finished"
        recording = self.folder / "recording"
        process = subprocess.Popen([doctor.PROGRAM, "run", "-q", "-o", str(recording), "--", "/usr/bin/python3", "-c",
                                    "import time, pathlib; print('ready', flush=True); time.sleep(1);"
                                    "pathlib.Path(%r).touch()" % str(marker)], env=self.environment(), stdout=subprocess.PIPE, text=True)
        self.assertEqual("ready\n", process.stdout.readline())
        process.kill()
        process.wait()
        until = time.monotonic() + 30
        while not marker.exists() and time.monotonic() < until:
            time.sleep(0.05)
        process.stdout.close()
        self.assertTrue(marker.exists(), "the job went down with the doctor")
        done = self.doctor("show", recording)
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertIn("recording.json", done.stdout)


if __name__ == "__main__":
    unittest.main()
