#!/usr/bin/env python3
"""A job that calls a stand-in for NCCL (tests/inject/nccl), under the doctor: what the plug-in, the wrappers and NCCL's own
ranges tell arrives in the report.

environment: GSD_DOCTOR, GSD_TEST_PROGRAMS (folder of tests/inject's programs)
"""
import os
import unittest
from pathlib import Path

import doctor

PROGRAMS = Path(os.environ.get("GSD_TEST_PROGRAMS", doctor.ROOT / "build/release/tests/inject"))
JOB = [PROGRAMS / "nvtx_client", "calls", PROGRAMS / "nccl" / "libnccl_job_a.so"]


class NcclJob(doctor.TestCase):
    def report(self, *options, **more):
        report, done = self.run_job(*JOB, options=options, STAND_IN_PLUGIN="5", **more)
        self.assertSays(done, 0)
        self.assertEqual(done.stdout.count("a nccl"), 9)
        return report

    def choices(self, report):
        [rows] = [series["rows"] for series in report["series"] if series["name"] == "nccl_choices"]
        return {(row[0], row[1]): tuple(row[2:5]) for row in rows}

    def test_ranges_and_plugin(self):
        report = self.report(STAND_IN_NVTX="full")
        choices = self.choices(report)
        self.assertEqual(choices["all_reduce", 4096], ("TREE", "LL", 2))
        self.assertEqual(choices["all_reduce", 262144], ("RING", "SIMPLE", 4))
        self.assertEqual(choices["broadcast", 40], ("TREE", "LL", 2))
        facts = report["facts"]
        self.assertEqual((facts["nccl.plugin"], facts["nccl.version"]), ("v5", "2.28.9"))
        self.assertNotIn("nccl_wrappers", facts)
        for source in ("NCCL profiler plug-in", "NCCL calls"):
            self.assertEqual([entry["state"] for entry in self.coverage(report, source)], ["collected"], source)

    def test_wrappers_where_ranges_are_switched_off(self):
        report = self.report(NCCL_NVTX_DISABLE="1")
        self.assertEqual(report["facts"]["nccl_wrappers"], "preloaded: NCCL_NVTX_DISABLE is set")
        self.assertEqual(self.choices(report)["all_reduce", 4096], ("TREE", "LL", 2))

    def test_a_version_that_is_denied(self):
        report = self.report(STAND_IN_NVTX="full", STAND_IN_VERSION="23003")
        self.assertNotIn("nccl_choices", [series["name"] for series in report["series"]])
        states = {entry["state"]: entry["reason"] for entry in self.coverage(report, "NCCL profiler plug-in")}
        self.assertIn("2.30.3", states["partial"])

    def test_the_jobs_own_plugin_goes_on(self):
        log = self.folder / "next.log"
        plugin = str(PROGRAMS / "nccl" / "libnext_plugin_45.so")
        report = self.report(STAND_IN_NVTX="full", NCCL_PROFILER_PLUGIN=plugin, NEXT_PLUGIN_LOG=str(log))
        self.assertEqual(report["facts"]["nccl_plugin.chained_to"], plugin)
        self.assertIn("start 2 AllReduce", log.read_text())
        self.assertEqual(self.choices(report)["all_reduce", 4096], ("TREE", "LL", 2))

    def test_a_plugin_that_cannot_be_chained_stays_alone(self):
        log = self.folder / "next.log"
        plugin = str(PROGRAMS / "nccl" / "libnext_plugin_2.so")
        report, done = self.run_job(*JOB, STAND_IN_PLUGIN="2", NCCL_PROFILER_PLUGIN=plugin, NEXT_PLUGIN_LOG=str(log))
        self.assertSays(done, 0)
        self.assertIn("start 2 AllReduce", log.read_text())
        [entry] = self.coverage(report, "NCCL profiler plug-in")
        self.assertEqual(entry["state"], "unavailable")
        self.assertIn("stays alone", entry["reason"])

    def test_a_job_without_nccl_is_none_of_nccls(self):
        report, done = self.run_job("/bin/true", options=["--nccl", "calls"])
        self.assertSays(done, 0)
        self.assertEqual(report["facts"]["nccl_wrappers"], "preloaded: --nccl calls")
        self.assertNotIn("backend", report["facts"])

    def test_off(self):
        report, done = self.run_job(*JOB, options=["--nccl", "off"], NCCL_NVTX_DISABLE="1")
        self.assertSays(done, 0)
        self.assertNotIn("nccl.plugin", report["facts"])
        self.assertNotIn("nccl_wrappers", report["facts"])

    def test_a_list_with_a_wrong_word(self):
        _, done = self.run_job("/bin/true", options=["--nccl", "calls,everything"])
        self.assertSays(done, 2, "--nccl", "calls,everything", "calls,kernels")

    def test_check_explains(self):
        done = self.doctor("check")
        self.assertIn("NCCL calls: by NCCL's NVTX ranges", done.stdout)
        self.assertIn("NCCL profiler plug-in: algorithm, protocol and channels", done.stdout)
        done = self.doctor("check", NCCL_NVTX_DISABLE="1", NCCL_PROFILER_PLUGIN="none")
        self.assertIn("NCCL calls: by preloaded wrappers: NCCL_NVTX_DISABLE is set", done.stdout)
        self.assertIn("unavailable  NCCL profiler plug-in: NCCL_PROFILER_PLUGIN=none forbids plug-ins", done.stdout)


if __name__ == "__main__":
    unittest.main()
