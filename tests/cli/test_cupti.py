#!/usr/bin/env python3
"""`--deep cupti`: from the option to the report, without a GPU, and beside other tools.

environment: GSD_TEST_PROGRAMS  folder of tests/inject's programs
"""
import os
import pathlib
import shutil
import unittest

import doctor

PROGRAMS = pathlib.Path(os.environ.get("GSD_TEST_PROGRAMS", doctor.ROOT / "build/release/tests/inject"))
CLIENT, FAKE = PROGRAMS / "cupti_client", PROGRAMS / "cupti_now" / "libcupti.so.13"


class Cupti(doctor.TestCase):
    def environment(self, **more):
        return {name: value for name, value in super().environment(**more).items() if not name.startswith("CUDA_")
                or name in more}

    def watch(self, scenario, *options, **more):
        report, done = self.run_job("sh", "-c", 'exec "$0" "$1" "$GSD_LIBRARY" "$2"', CLIENT, scenario, FAKE,
                                    options=("--deep", "cupti", *options), **more)
        self.assertSays(done, 0)
        return report

    def metric(self, report, name):
        return [metric["value"] for metric in report["metrics"] if metric["name"] == name and metric["scope"] == "rank:0"]

    def test_check_says_what_would_be_collected(self):
        done = self.doctor("check")
        self.assertSays(done, 0)
        self.assertIn("GPU activity (CUPTI)", done.stdout)
        self.assertIn("kernels with what launched them and their theoretical occupancy", done.stdout)

    def test_every_step(self):
        report = self.watch("training", "--steps", "all")
        self.assertEqual("all", report["facts"]["option.cupti"])
        self.assertEqual([], [entry for entry in self.coverage(report, "GPU activity") if entry["state"] != "collected"])
        compute, = self.metric(report, "gpu.compute_us")
        communication, = self.metric(report, "gpu.comm_us")
        self.assertTrue(compute > 0 and communication > 0)
        messages, = (series for series in report["series"] if series["name"] == "messages")
        op, size = (messages["columns"].index(name) for name in ("op", "bytes"))
        self.assertEqual([("all_reduce", 4096)], [(row[op], row[size]) for row in messages["rows"]])

    def test_windows_by_default(self):
        report = self.watch("training")
        self.assertEqual("windows", report["facts"]["option.cupti"])
        self.assertEqual([], [entry for entry in self.coverage(report, "GPU activity") if entry["state"] != "collected"])
        self.assertEqual([], self.metric(report, "gpu.compute_us"))   # of whole traces only

    def test_a_job_whose_gpu_was_not_watched_says_why(self):
        report = self.watch("job-first")
        entry, = [entry for entry in self.coverage(report, "GPU activity") if entry["state"] == "unavailable"]
        self.assertIn("the job's own profiler", entry["reason"])

    def test_a_tool_in_the_variable_keeps_it(self):
        report, done = self.run_job("sh", "-c", 'echo "[$CUDA_INJECTION64_PATH]"', options=("--deep", "cupti"),
                                    CUDA_INJECTION64_PATH="/opt/other.so")
        self.assertIn("[/opt/other.so]", done.stdout)
        entry, = self.coverage(report, "GPU activity (CUPTI)")
        self.assertEqual("unavailable", entry["state"])
        self.assertIn("/opt/other.so", entry["reason"])

    def test_under_nsight_systems(self):
        shell = self.folder / "nsys"
        shutil.copy("/bin/sh", shell)
        report = self.folder / "report.json"
        command = '"$1" run --deep cupti --json "$2" -- sh -c "echo [\\$CUDA_INJECTION64_PATH]"; exit $?'
        done = doctor.subprocess.run([shell, "-c", command, "sh", doctor.PROGRAM, report], env=self.environment(),
                                     capture_output=True, text=True, timeout=120)
        self.assertIn("[]", done.stdout)
        entry, = self.coverage(doctor.json.loads(report.read_text()), "GPU activity (CUPTI)")
        self.assertIn("nsys", entry["reason"])


if __name__ == "__main__":
    unittest.main()
