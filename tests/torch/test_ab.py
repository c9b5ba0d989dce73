#!/usr/bin/env python3
"""run --ab in a real job: which passes go without the hook, and that all ranks give up together when one is odd."""
import json
import unittest

from support import observed

PLAN = "first=14,block=4,drop=1,quadruples=3"   # blocks begin at passes 14, 18, 22, …; the first that counts at 18
STEPS = 80


@observed.needs_library()
@observed.needs_torch()
class Ab(observed.TestCase):
    def job(self, case, plan=PLAN, **env):
        self.outcome = observed.run_job("ab_cases", case, str(STEPS), recording=self.recording, GSD_AB=plan, **env)
        self.spools = self.recording.spools()
        self.states = [spool.facts.get("ab.state") for spool in self.spools]
        return [json.loads(output) for output in self.outcome.outputs if output]

    def steps(self, rank):
        return self.spools[rank].of("step")

    def assertOffEverywhere(self, ranks, reason):
        self.assertFinished(self.outcome)
        for state in self.states:
            self.assertRegex(state, "^off: .*" + reason)
        self.assertEqual(ranks[0]["hook"], ranks[1]["hook"])
        self.assertTrue(ranks[0]["hook"].endswith("H" * 40), ranks[0]["hook"])   # and for good

    def test_blocks_follow_the_schedule(self):
        ranks = self.job("plain")
        self.assertFinished(self.outcome)
        self.assertEqual(["finished after 3 quadruples"] * 2, self.states)
        self.assertEqual(ranks[0], ranks[1])
        self.assertEqual("H" * 18, ranks[0]["hook"][:18])
        quadruples = [ranks[0]["hook"][18 + 16 * i:34 + 16 * i] for i in range(3)]
        for quadruple in quadruples:
            self.assertIn(quadruple, ("HHHH........HHHH", "....HHHHHHHH...."))
        self.assertEqual("H" * (STEPS - 66), ranks[0]["hook"][66:])
        # the memory of error feedback is neither read nor written in between
        self.assertEqual([], ranks[0]["state"] + ranks[1]["state"])

        for rank in (0, 1):
            steps = self.steps(rank)
            self.assertNotIn("hook.fault", self.spools[rank].facts)
            self.assertEqual("24", self.spools[rank].facts["ab.bypassed_passes"])
            self.assertEqual([int(character == ".") for character in ranks[rank]["hook"]],
                             [step.group for step in steps])
            blocks = [step.attributes.get("ab_block") for step in steps]
            self.assertEqual([None] * 18 + [block for i in range(12) for block in (None, i, i, i)] + [None] * (STEPS - 66),
                             blocks)

    def test_half_precision_instead(self):
        ranks = self.job("plain", PLAN + ",with=fp16")
        self.assertEqual("finished after 3 quadruples", self.states[0])
        self.assertIn(".", ranks[0]["hook"])
        self.assertIn("float16", {event.attributes.get("dtype") for event in self.spools[0].of("collective", "all_reduce")})

    def test_another_schedule(self):
        ranks = self.job("other_schedule")
        self.assertOffEverywhere(ranks, "not at the same place")
        self.assertEqual("H" * STEPS, ranks[0]["hook"])

    def test_shorter_blocks(self):
        ranks = self.job("shorter_blocks")
        self.assertOffEverywhere(ranks, "not at the same place|has not reported")
        self.assertEqual("H" * STEPS, ranks[0]["hook"])

    def test_one_rank_was_not_asked(self):
        ranks = self.job("not_asked")
        self.assertEqual(["off: a rank has not reported", None], self.states)
        self.assertEqual(["H" * STEPS] * 2, [rank["hook"] for rank in ranks])

    def test_extra_no_sync_step(self):
        self.assertOffEverywhere(self.job("no_sync"), "5 steps with 4 synchronised passes")

    def test_delayed(self):
        self.assertOffEverywhere(self.job("delayed", GSD_AB_LIMIT="2"), "took [0-9.]+ s")

    def test_killed(self):
        survivors = self.job("killed")
        self.assertEqual([0, -9], self.outcome.codes, str(self.outcome))
        self.assertEqual(25, len(survivors[0]["hook"]))   # its error came from the collective, at once
        self.assertTrue(survivors[0]["error"])
        self.assertNotIn("finished", self.states[0])

    def test_uneven_inputs(self):
        ranks = self.job("join")
        self.assertFinished(self.outcome)
        self.assertEqual(["off: the job uses join() for uneven inputs"] * 2, self.states)
        self.assertEqual(["H" * STEPS, "H" * (STEPS - 20)], [rank["hook"] for rank in ranks])

    def test_checkpoint(self):
        self.assertOffEverywhere(self.job("save"), "writes checkpoints")

    def test_checkpoint_that_is_fine(self):
        self.job("save", GSD_AB_YES="1")
        self.assertEqual(["finished after 3 quadruples"] * 2, self.states)

    def test_second_model(self):
        self.assertOffEverywhere(self.job("second_model"), "more than one model")

    def test_gradient_accumulation(self):
        ranks = self.job("accumulate")   # one synchronised pass in each step: as good as none
        self.assertEqual(["finished after 3 quadruples"] * 2, self.states)
        self.assertIn(".", ranks[0]["hook"])

    def test_several_passes_in_a_step(self):
        self.job("two_passes")
        self.assertIn("steps with 4 synchronised passes", self.states[-1])

    def test_no_hook(self):
        self.job("no_hook")
        self.assertEqual(["off: no communication hook is registered"] * 2, self.states)

    def test_what_stands_in_for_the_hook(self):
        outcome = observed.run_job("plain_sync", ranks=3, recording=self.recording)   # 1/3 is where rounding shows
        self.assertFinished(outcome)
        without, dense, half = outcome.outputs[0].split()
        self.assertEqual(without, dense)
        self.assertNotEqual(without, half)


if __name__ == "__main__":
    unittest.main()
