#!/usr/bin/env python3
"""run --quality in a real job: what the marks say of hooks whose quality is known, and that nothing of the job changes."""
import unittest

from support import observed

ALWAYS = "budget=100000"   # it does not give up because the machine is busy
STEPS = 72                 # one window of 32 passes


@observed.needs_library()
@observed.needs_torch()
class Quality(observed.TestCase):
    def job(self, case, steps=STEPS, plan=ALWAYS, **env):
        self.outcome = observed.run_job("quality_cases", case, str(steps), recording=self.recording, GSD_QUALITY=plan,
                                        **env)
        self.assertFinished(self.outcome)
        self.spools = self.recording.spools()
        self.states = [spool.facts.get("quality.state") for spool in self.spools]
        for spool in self.spools:
            self.assertNotIn("hook.fault", spool.facts)

    def marks(self, name, group=None, rank=0):
        return [event.attributes for event in self.spools[rank].of("mark", "quality." + name)
                if group is None or event.group == group]

    def test_error_feedback_delivers_what_it_left_out(self):
        self.job("feedback")
        self.assertEqual(["running"] * 2, self.states)
        window = self.marks("window", "all")[0]
        self.assertEqual(32, window["passes"])
        self.assertGreater(window["cosine_ppm"], 900_000)
        self.assertGreater(window["memory_cosine_ppm"], 999_000)   # received = true + memory before - memory after
        for mark in self.marks("hook")[1:]:
            self.assertAlmostEqual(mark["expected_ppm"], mark["cosine_ppm"], delta=100)
        self.assertEqual("in residuals", self.spools[0].facts["quality.memory"])
        # both ranks say the same of what is the same on both
        self.assertEqual([sorted(mark.items()) for mark in self.marks("window")],
                         [sorted(mark.items()) for mark in self.marks("window", rank=1)])

    def test_what_is_never_sent_is_missing(self):
        self.job("no_feedback")
        window = self.marks("window", "all")[0]
        self.assertLess(window["cosine_ppm"], 900_000)
        self.assertNotIn("memory_cosine_ppm", window)
        self.assertEqual([], self.marks("hook"))
        self.assertEqual("none found", self.spools[0].facts["quality.memory"])

    def test_a_sign_lost_on_the_way(self):
        self.job("wrong_sign")
        window = self.marks("window", "all")[0]
        self.assertLess(window["cosine_ppm"], 0)
        self.assertLess(window["memory_cosine_ppm"], 0)

    def test_dense_and_half(self):
        for case in ("dense", "fp16"):
            with self.subTest(case):
                self.recording.remove()
                self.setUp()
                self.job(case)
                window = self.marks("window", "all")[0]
                self.assertGreater(window["cosine_ppm"], 999_900)
                self.assertAlmostEqual(1_000_000, window["norm_ratio_ppm"], delta=1000)

    def test_layers_without_an_entry(self):
        self.job("k_zero", 168)
        last = {event.group: event.attributes for event in self.spools[0].of("mark", "quality.window")}
        self.assertEqual(128, last["all"]["passes"])
        starved = {layer for layer, mark in last.items() if mark["sent_ppm"] == 0 and mark["moved_ppm"] > 0}
        self.assertEqual({"2.bias", "3.weight", "3.bias", "4.bias"}, starved)

    def test_small_numbers_in_half_precision(self):
        self.job("underflow", 20)
        self.assertGreater(self.marks("range")[-1]["tiny_ppm"], 50_000)

    def test_a_sum_that_overflows(self):
        self.job("overflow", 20)
        first = self.marks("range")[0]
        self.assertEqual((0, 1), (first["raw_nonfinite"], first["received_nonfinite"]))

    def test_replicas(self):
        self.job("diverged", 64)
        differences = [max(mark["difference_ppb"] for mark in self.marks("replica", rank=rank)) for rank in (0, 1)]
        self.assertGreater(max(differences), 100_000_000)
        self.recording.remove()
        self.setUp()
        self.job("feedback")
        for rank in (0, 1):
            self.assertLess(max(mark["difference_ppb"] for mark in self.marks("replica", rank=rank)), 100)

    def test_numbers_and_traffic_of_the_job_stay(self):
        self.job("feedback")
        watched, collectives = self.outcome.outputs, [self.collectives(rank) for rank in (0, 1)]
        self.recording.remove()
        self.setUp()
        self.job("feedback", plan=None)
        self.assertEqual([None] * 2, self.states)
        self.assertEqual(watched, self.outcome.outputs)
        self.assertEqual(collectives, [self.collectives(rank) for rank in (0, 1)])   # our own are not among them

    def collectives(self, rank):
        return [(event.name, event.bytes) for event in self.spools[rank].of("collective")]

    def test_accumulation(self):
        self.job("accumulate")
        self.assertGreater(self.marks("window", "all")[0]["memory_cosine_ppm"], 999_000)

    def test_it_gives_up_when_it_costs_too_much(self):
        self.job("feedback", 160, "budget=0.0001")
        for state in self.states:
            self.assertRegex(state, "^off: it cost [0-9.]+ % of the step, allowed is 0.0001 %")
        self.assertLess(max(event.sequence for event in self.spools[0].of("mark", "quality.window")), 120)

    def test_ranks_that_were_not_asked_alike(self):
        for case, reason in (("not_asked", "a rank has not reported"), ("other_plan", "not at the same place|not reported")):
            with self.subTest(case):
                self.recording.remove()
                self.setUp()
                self.job(case)
                self.assertRegex(self.states[0], "^off: .*" + reason)
                self.assertEqual([], self.marks("window"))

    def test_no_hook(self):
        self.job("no_hook", 5)
        self.assertEqual(["off: no communication hook is registered"] * 2, self.states)


if __name__ == "__main__":
    unittest.main()
