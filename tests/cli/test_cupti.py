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
COUNTERS, DRIVER = PROGRAMS / "counters_client", PROGRAMS / "fake_driver" / "libcuda.so.1"


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

    def trouble(self, report, source):
        return [entry for entry in self.coverage(report, source) if entry["state"] != "collected"]

    def test_check_says_what_would_be_collected(self):
        done = self.doctor("check")
        self.assertSays(done, 0)
        self.assertIn("GPU activity (CUPTI)", done.stdout)
        self.assertIn("kernels with what launched them and their theoretical occupancy", done.stdout)
        self.assertIn("GPU counters", done.stdout)
        self.assertIn("never of NCCL's kernels", done.stdout)

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

    def count(self, scenario, *options, **more):
        """Under a driver that lets everybody count, whatever this machine's says."""
        report, done = self.run_job("sh", "-c", 'LD_PRELOAD="$3" exec "$0" "$1" "$GSD_LIBRARY" "$2"', COUNTERS, scenario,
                                    FAKE, DRIVER, options=("--deep", "cupti", *options), **more)
        self.assertSays(done, 0)
        return report, done.stdout

    def test_counters_of_the_kernels_that_compress(self):
        report, text = self.count("announced", "--counters")
        memory, = self.metric(report, "gpu.counters.dram__throughput.avg.pct_of_peak_sustained_elapsed")
        self.assertEqual(10.25, memory)
        self.assertEqual([4000.0], self.metric(report, "gpu.counters.gpu__time_duration.sum"))
        self.assertEqual([], self.trouble(report, "GPU counters"))
        self.assertIn("2 kernels of the first bucket", report["facts"]["counters.of"])
        self.assertRegex(text.replace("\xa0", " "), r"counters +dram__throughput\S+ 10\.[23] %")
        self.assertIn("one after the other", " ".join(text.split()))

    def test_counters_that_do_not_fit_are_named(self):
        report, _ = self.count("announced", "--counters=dram__bytes.sum,lts__t_sector_hit_rate.pct",
                               FAKE_PROFILER_PASSES="lts__t_sector_hit_rate.pct")
        entry, = self.trouble(report, "GPU counters")
        self.assertEqual("partial", entry["state"])
        self.assertIn("lts__t_sector_hit_rate.pct (needs a second pass)", entry["reason"])
        self.assertEqual(1, len(self.metric(report, "gpu.counters.dram__bytes.sum")))

    def test_counters_that_the_driver_refuses(self):
        report, _ = self.count("announced", "--counters", FAKE_PROFILER_ERROR="enable:35")
        entry, = self.trouble(report, "GPU counters")
        self.assertEqual("unavailable", entry["state"])
        self.assertIn("reserved to the administrator", entry["reason"])
        self.assertIn("NVreg_RestrictProfilingToAdminUsers=0", entry["hint"])
        self.assertEqual([], [entry for entry in self.coverage(report, "GPU activity") if entry["state"] != "collected"])

    def test_wrong_calls(self):
        for options, says in ((("--counters",), "--deep cupti --counters"),
                              (("--deep", "torch", "--counters"), "--deep cupti --counters"),
                              (("--deep", "cupti", "--counters", "--steps", "all"), "leave --steps out"),
                              (("--deep", "cupti", "--counters", "--ab"), "leaves the hook out"),
                              (("--deep", "cupti", "--counters", "python3"), "-- before the job"),
                              (("--deep", "cupti", "--counters=a,b"), "no metric of CUPTI")):
            with self.subTest(options):
                done = self.doctor("run", *options, "--", "true")
                self.assertSays(done, 2)
                self.assertIn(says, done.stderr)

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
