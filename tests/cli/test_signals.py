#!/usr/bin/env python3
"""Signals reach CMD, and a report still appears."""
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
