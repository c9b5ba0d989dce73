#!/usr/bin/env python3
"""Runs a job without a GPU under `run --counters`'s half of libgradsync_inject.so: which kernels are counted, when, why not.

usage: test_counters.py [unittest arguments]     environment: as test_cupti.py

The fake profiler dies of a kernel of NCCL that is launched while it is on, so every scenario proves that there is none.
"""

import unittest

from spool import spools_of
from test_cupti import LIBRARY, NOW, OLD, PROGRAMS, Case

DURATION = "gpu__time_duration.sum"
MEMORY, OCCUPANCY = "dram__throughput.avg.pct_of_peak_sustained_elapsed", "sm__warps_active.avg.pct_of_peak_sustained_active"
NAMES = f"{MEMORY},{OCCUPANCY}"
DRIVER = PROGRAMS / "fake_driver" / "libcuda.so.1"


class Counters(Case):
    def job(self, scenario, *, names=NAMES, fake=NOW, driver=True, **more):
        environment = {"GSD_COUNTERS": names, "NVTX_INJECTION64_PATH": LIBRARY, **more}
        if driver:
            environment["LD_PRELOAD"] = str(DRIVER)
        self.out = self.start(PROGRAMS / "counters_client", scenario, LIBRARY, fake, **environment)
        return self.only_spool()

    def kernels(self, spool):
        return [event for event in spool.events if event.name == "gpu_counters"]

    def ranges(self, spool):
        return [event for event in spool.events if event.name == "gpu_counters_range"]

    def check_nothing(self, spool, why):
        self.assertEqual(self.kernels(spool), [])
        self.assertRegex(spool.facts["counters"], "^(unavailable|yielded): [^:]")
        self.assertIn(why, spool.facts["counters"])

    def marked(self, spool):
        steps = [event for event in spool.events if event.kind == "step"]
        return [number for number, step in enumerate(steps) if step.attributes.get("counters")]


class WhatIsCounted(Counters):
    def check_three_steps(self, spool):
        kernels = self.kernels(spool)
        self.assertEqual([kernel.step for kernel in kernels], [25, 25, 26, 26, 27, 27])
        self.assertEqual([kernel.sequence for kernel in kernels], [0, 1] * 3)
        self.assertEqual([kernel.attributes[DURATION] for kernel in kernels], [1000_000, 3000_000] * 3)
        self.assertEqual({kernel.attributes[MEMORY] for kernel in kernels}, {10_250})
        self.assertEqual({kernel.attributes[OCCUPANCY] for kernel in kernels}, {20_250})
        for event in self.ranges(spool):
            self.assertEqual((event.attributes["kernels"], event.attributes["dropped"]), (2, 0))
            self.assertGreater(event.attributes["cost_ns"], 0)
        self.assertEqual(spool.facts["counters"], "collected")
        self.assertEqual(spool.facts["counters.chip"], "GH100")
        self.assertEqual(spool.facts["counters.metrics"], f"{DURATION},{MEMORY},{OCCUPANCY}")
        self.assertNotIn("counters.refused", spool.facts)

    def test_the_first_bucket_of_three_steps_up_to_its_collective(self):
        for scenario in ("announced", "unannounced", "wrapper"):  # who ends it: the hook, NCCL's range, its wrapper
            with self.subTest(scenario):
                self.setUp()
                spool = self.job(scenario)
                self.check_three_steps(spool)
                self.assertEqual(self.marked(spool), [25, 26, 27])

    def test_a_kernel_beyond_the_room_is_counted(self):
        spool = self.job("many")
        self.assertEqual([(event.attributes["kernels"], event.attributes["dropped"]) for event in self.ranges(spool)],
                         [(64, 7)] * 3)  # fmt: skip

    def test_metrics_that_need_a_second_pass_or_are_unknown_are_refused_by_name(self):
        more = "l1tex__t_sector_hit_rate.pct"
        spool = self.job("announced", names=f"{MEMORY},{OCCUPANCY},{more}", FAKE_PROFILER_PASSES=OCCUPANCY,
                         FAKE_PROFILER_UNKNOWN=more)  # fmt: skip
        self.assertEqual(spool.facts["counters.metrics"], f"{DURATION},{MEMORY}")
        self.assertEqual(spool.facts["counters.refused"], f"{OCCUPANCY} (needs a second pass), {more} (not on this chip)")
        self.assertEqual(len(self.kernels(spool)), 6)

    def test_too_many_metrics(self):
        spool = self.job("announced", names=",".join(f"sm__m{i}.sum" for i in range(20)))
        self.assertEqual(spool.facts["counters.metrics"].count(","), 15)
        self.assertEqual(spool.facts["counters.refused"].count("there are too many"), 5)

    def test_nobody_asked(self):
        spool = self.job("announced", names="")
        self.assertEqual((self.kernels(spool), self.marked(spool)), ([], []))
        self.assertNotIn("counters", spool.facts)


class NeverNccl(Counters):
    def test_a_collective_of_another_thread_ends_it(self):
        self.check_nothing(self.job("other-thread"), "began on another thread")

    def test_a_call_that_has_not_returned_keeps_it_from_beginning(self):
        self.check_nothing(self.job("busy"), "was under way")

    def test_calls_that_cannot_be_seen_keep_it_from_beginning(self):
        self.check_nothing(self.job("hidden"), "no call of NCCL could be seen")


class WhyNot(Counters):
    def test_cupti_refuses(self):
        for script, why in (("enable:35", "reserved to the administrator"), ("enable:40", "this virtual GPU"),
                            ("enable:43", "MIG"), ("enable:26", "another profiler"), ("initialize:39", "another profiler"),
                            ("availability:35", "reserved to the administrator"), ("host:46", "not on this GPU"),
                            ("supported:27", "not on this GPU"), ("start:999", "answers 999 to counting"),
                            ("config:1", "answers 1 to counting"), ("stop:7", "answers 7 to reading"),
                            ("decode:8", "answers 8 to reading"), ("evaluate:17", "in one pass")):  # fmt: skip
            with self.subTest(script):
                self.setUp()
                spool = self.job("announced", FAKE_PROFILER_ERROR=script)
                self.check_nothing(spool, why)
                self.assertEqual(self.marked(spool), [25, 26, 27])  # as on the ranks where it works

    def test_no_metric_fits(self):
        self.check_nothing(self.job("announced", FAKE_PROFILER_ERROR="add:1"), "none of the metrics")

    def test_cupti_before_the_range_profiler(self):
        self.check_nothing(self.job("announced", fake=OLD, FAKE_CUPTI_VERSION="18"), "CUDA 12.6")

    def test_no_driver_is_loaded(self):
        self.check_nothing(self.job("announced", driver=False), "no driver")

    def test_a_job_without_a_hook(self):
        self.check_nothing(self.job("no-hook"), "no bucket")

    def test_a_job_that_ends_too_early(self):
        spool = self.job("short", FAKE_PROFILER_ERROR="enable:35")
        self.check_nothing(spool, "reserved to the administrator")
        self.setUp()
        self.assertEqual(self.job("short").facts["counters"], "collected")

    def test_another_tool_has_the_gpu(self):
        self.check_nothing(self.job("announced", NSYS_PROFILING_SESSION_ID="1"), "Nsight Systems")

    def test_the_jobs_own_profiler_begins_in_a_counted_step(self):
        self.check_nothing(self.job("yield"), "the job's own profiler")

    def test_a_child_that_is_forked_in_a_counted_bucket_leaves_it_alone(self):
        self.job_ran = self.start(PROGRAMS / "counters_client", "fork", LIBRARY, NOW, GSD_COUNTERS=NAMES,
                                  NVTX_INJECTION64_PATH=LIBRARY, LD_PRELOAD=str(DRIVER))  # fmt: skip
        self.assertIn("child 0\n", self.job_ran)
        counted = [len(self.kernels(spool)) for spool in spools_of(self.recording)]
        self.assertEqual(max(counted), 6)


if __name__ == "__main__":
    unittest.main()
