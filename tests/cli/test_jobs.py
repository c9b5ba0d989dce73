#!/usr/bin/env python3
"""Jobs that the hook cannot get into, or that leave processes behind: the report says so, and why."""
import os
import unittest

import doctor

PYTHON = "/usr/bin/python3"
LIVE = "import time; time.sleep(0.7)"   # long enough to be seen


@unittest.skipUnless(os.access(PYTHON, os.X_OK), "no " + PYTHON)
class NotInstrumented(doctor.TestCase):
    def reason(self, *command, **more):
        report, done = self.run_job(*command, **more)
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertEqual("not-instrumented", doctor.fired(report)[0])
        self.assertEqual("no", report["facts"]["instrumented"])
        return report["facts"]["instrumented.reason"]

    def test_flags(self):
        for flag in ("-I", "-E", "-S"):
            with self.subTest(flag):
                self.assertIn("started with " + flag, self.reason(PYTHON, flag, "-c", LIVE))

    def test_a_cleaned_environment(self):
        self.assertIn("environment was cleaned", self.reason("env", "-i", PYTHON, "-c", LIVE))

    def test_a_replaced_path(self):
        self.assertIn("PYTHONPATH was replaced", self.reason("env", "PYTHONPATH=/nonexistent", PYTHON, "-c", LIVE))

    def test_the_jobs_own_sitecustomize_first(self):
        (self.folder / "sitecustomize.py").write_text("")
        command = "PYTHONPATH=%s:$PYTHONPATH exec %s -c '%s'" % (self.folder, PYTHON, LIVE)
        self.assertIn("another sitecustomize.py comes first", self.reason("sh", "-c", command))

    def test_a_python_that_does_not_train(self):
        report, done = self.run_job(PYTHON, "-c", LIVE)
        self.assertEqual("no process of the job left training steps", report["facts"]["instrumented.reason"])


@unittest.skipUnless(os.access(PYTHON, os.X_OK), "no " + PYTHON)
class Processes(doctor.TestCase):
    DAEMON = "import os, time, pathlib\nif os.fork() == 0:\n os.setsid()\n time.sleep(%g)\n pathlib.Path(%r).touch()"

    def test_fork_without_exec(self):
        code = "import os, time\nif os.fork() == 0:\n time.sleep(1)\n os._exit(0)\nos.wait()"
        report, done = self.run_job(PYTHON, "-c", code)
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertTwoInstrumented(report)

    def test_fork_of_a_parent_that_was_not_seen(self):
        code = "import os, time\nif os.fork() == 0: time.sleep(1)\nos._exit(0)"
        report, done = self.run_job(PYTHON, "-c", code, options=("--linger", "30s"))
        self.assertFalse(self.coverage(report, "python pid"), report["coverage"])
        self.assertEqual("no process of the job left training steps", report["facts"]["instrumented.reason"])

    def test_an_interpreter_started_by_one(self):
        code = "import subprocess, sys; subprocess.run([sys.executable, '-c', %r])" % LIVE
        report, done = self.run_job(PYTHON, "-c", code)
        self.assertTwoInstrumented(report)

    def test_one_of_two_has_its_environment_cleaned(self):
        code = "import subprocess, sys; subprocess.run([sys.executable, '-c', %r], env={})" % LIVE
        report, done = self.run_job(PYTHON, "-c", code)
        self.assertIn("environment was cleaned", self.coverage(report, "python pid")[0]["reason"])

    def assertTwoInstrumented(self, report):
        self.assertFalse(self.coverage(report, "python pid"), report["coverage"])
        processes = next(series for series in report["series"] if series["name"] == "processes")
        column = processes["columns"].index("instrumented")
        self.assertEqual([1, 1], [row[column] for row in processes["rows"]])
        self.assertEqual("no process of the job left training steps", report["facts"]["instrumented.reason"])

    def test_a_daemon_is_waited_for(self):
        marker = self.folder / "done"
        report, done = self.run_job(PYTHON, "-c", self.DAEMON % (1, str(marker)), options=("--linger", "30s"))
        self.assertTrue(marker.exists())
        self.assertFalse(self.coverage(report, "processes left behind"))

    def test_a_daemon_that_is_not_waited_for_is_said(self):
        report, done = self.run_job(PYTHON, "-c", self.DAEMON % (3, str(self.folder / "done")))
        self.assertEqual("partial", self.coverage(report, "processes left behind")[0]["state"])


if __name__ == "__main__":
    unittest.main()
