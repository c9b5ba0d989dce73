#!/usr/bin/env python3
"""Deep windows: when they open, what is in the file, and that the job's own profiler always wins."""
import json
import os
import unittest

from support import observed

DEEP = 1


@observed.needs_library()
@observed.needs_torch()
class Windows(observed.TestCase):
    def job(self, case, steps, ranks=1, left_on=False, attempts=1, **env):
        """More attempts: torch 1.13 without Kineto now and then corrupts its own memory when the job's profiler has a
        schedule, unobserved as well (1 run of 150 aborts)."""
        deep = env.pop("GSD_DEEP", "auto")
        for _ in range(attempts):
            outcome = observed.run_job("profiled", case, str(steps), ranks=ranks, recording=self.recording,
                                       GSD_DEEP=deep, **env)
            if min(outcome.codes) >= 0:
                break
            self.setUp()   # another recording
        self.assertFinished(outcome)
        for output, errors in zip(outcome.outputs, outcome.errors):
            self.assertIn("profiler left on %s\ndone" % left_on, output)
            self.assertNotIn("USDT", errors)
        for spool in self.recording.spools():
            self.assertNotIn("hook.fault", spool.facts)
        return outcome

    def deep_steps(self, spool):
        return [step.step for step in spool.of("step") if step.flags & DEEP]

    def reasons(self, spool):
        return [window.attributes["reason"] for window in spool.of("window")]

    def names_in(self, file):
        with open(os.path.join(self.recording.folder, "windows", file)) as opened:
            trace = json.load(opened)
        events = trace if isinstance(trace, list) else trace["traceEvents"]
        return [event.get("name") for event in events]

    def test_five_steps_after_ten_on_all_ranks_at_once(self):
        self.job("none", 20, ranks=2)
        for spool in self.recording.spools():
            self.assertEqual([10, 11, 12, 13, 14, 15], self.deep_steps(spool)[:6])
            window, = spool.of("window")
            self.assertEqual("done", spool.facts["deep"])
            self.assertEqual("warm-up over", window.attributes["reason"])
            # the stamps lie in the window, and mark ranges that are in the file, once each
            self.assertTrue(window.start <= window.attributes["clock_close_ns"] <= window.end)
            self.assertLess(window.attributes["clock_open_ns"], window.attributes["clock_close_ns"])
            self.assertGreater(window.attributes["cost_ns"], 0)
            names = self.names_in(window.name)
            self.assertEqual([1, 1], [names.count("gsd_clock_open"), names.count("gsd_clock_close")])
            self.assertEqual(5, len([name for name in names if name and name.startswith("Optimizer.step#SGD.step")]))

    def test_off(self):
        self.job("none", 14, GSD_DEEP="off")
        spool, = self.recording.spools()
        self.assertEqual([], spool.of("window"))
        self.assertEqual("off", spool.facts["deep"])

    def test_a_job_that_ends_inside_is_still_saved(self):
        self.job("none", 13, left_on=True)
        self.assertEqual(1, len(self.recording.windows()))
        self.assertIn("gsd_clock_close", self.names_in(self.recording.windows()[0]))

    def test_more_bytes_open_a_second_window(self):
        self.job("bytes", 36)
        spool, = self.recording.spools()
        self.assertEqual(["warm-up over", "bytes changed"], self.reasons(spool))
        self.assertEqual(2, len(self.recording.windows()))
        second = spool.of("window")[1]
        self.assertEqual(25, second.step)

    def test_powersgd_past_its_warm_up_opens_a_second_window(self):
        self.job("powersgd", 36)
        spool, = self.recording.spools()
        self.assertEqual(["warm-up over", "hook started"], self.reasons(spool))
        self.assertEqual("22", spool.facts["hook.start_step"])

    def test_the_jobs_profiler_before_ours(self):
        outcome = self.job("theirs_first", 24)
        self.assertIn("theirs True", outcome.outputs[0])
        spool, = self.recording.spools()
        window, = spool.of("window")
        self.assertEqual(14, window.step)

    def test_the_jobs_profiler_inside_ours(self):
        outcome = self.job("theirs_inside", 20)
        self.assertIn("theirs True", outcome.outputs[0])
        spool, = self.recording.spools()
        window, = spool.of("window")
        self.assertEqual(12, [step.step for step in spool.of("step") if step.start < window.end][-1])

    def test_the_jobs_profiler_on_a_schedule(self):
        outcome = self.job("theirs_scheduled", 24, attempts=3)
        self.assertIn("theirs True", outcome.outputs[0])

    def test_a_fork_closes_the_window_first(self):
        outcome = self.job("fork", 20)
        self.assertIn("child", outcome.outputs[0])
        self.assertEqual(1, len(self.recording.windows()))


FAKE_CUPTI = os.environ.get("GSD_TEST_FAKE_CUPTI", "")


@observed.needs_library()
@observed.needs_torch()
@unittest.skipUnless(os.path.isfile(FAKE_CUPTI), "GSD_TEST_FAKE_CUPTI does not name the fake libcupti")
class GpuWindows(observed.TestCase):
    """The library watches the GPU (CUPTI): no window of torch's profiler, and none of CUPTI's beside the job's."""

    def job(self, case, steps):
        outcome = observed.run_job("cuda_started", case, str(steps), ranks=1, recording=self.recording,
                                   GSD_DEEP="cupti", GSD_CUPTI="windows", LD_PRELOAD=FAKE_CUPTI)
        self.assertFinished(outcome)
        spool, = self.recording.spools()
        self.assertNotIn("hook.fault", spool.facts)
        self.assertEqual([], self.recording.windows())
        return outcome, spool

    def test_ten_steps_from_the_tenth_on(self):
        _, spool = self.job("none", 24)
        window, = spool.of("window")
        self.assertEqual("cupti_window", window.name)
        self.assertEqual(list(range(10, 21)), [step.step for step in spool.of("step") if step.flags & DEEP])
        self.assertEqual("measured offset", spool.facts["cupti.clock"])   # torch's profiler counts on CUPTI's own
        self.assertIn("no record came", spool.facts["cupti"])   # there is no GPU

    def test_the_jobs_profiler_before_ours_keeps_the_gpu(self):
        outcome, spool = self.job("theirs_first", 24)
        self.assertIn("theirs True", outcome.outputs[0])
        self.assertEqual([], spool.of("window"))
        self.assertEqual("yielded: the job's own profiler uses CUPTI", spool.facts["cupti"])

    def test_the_jobs_profiler_inside_ours_gets_the_gpu(self):
        outcome, spool = self.job("theirs_inside", 24)
        self.assertIn("theirs True", outcome.outputs[0])
        window, = spool.of("window")
        self.assertEqual(12, [step.step for step in spool.of("step") if step.start < window.end][-1])
        self.assertEqual("yielded: the job's own profiler uses CUPTI", spool.facts["cupti"])


if __name__ == "__main__":
    unittest.main()
