#!/usr/bin/env python3
"""The job comes first: off-switch, our own failures, budget, children, compiler."""
import re
import unittest

from support import observed


@observed.needs_library()
@observed.needs_torch()
class Safety(observed.TestCase):
    def job(self, *arguments, **env):
        outcome = observed.run_job("safety_cases", *arguments, ranks=1, recording=self.recording, **env)
        self.assertFinished(outcome)
        self.assertTrue(outcome.outputs[0].endswith("done\n"), str(outcome))
        return outcome

    def test_off_takes_everything_back_and_may_be_repeated(self):
        outcome = self.job("switched_off")
        self.assertIn("still ours [] 0 False", outcome.outputs[0])
        self.assertIn("were ours True", outcome.outputs[0])
        spool, = self.recording.spools()
        self.assertEqual(3, len(spool.of("range", phase="optimizer")))

    def test_three_faults_of_ours_end_the_observation_and_not_the_job(self):
        self.job("faulty")
        spool, = self.recording.spools()
        self.assertIn("TypeError", spool.facts["hook.disabled"])
        self.assertGreaterEqual(len(spool.of("range", phase="optimizer")), 3)
        self.assertLess(len(spool.of("range", phase="optimizer")), 8)

    def test_a_library_that_is_missing(self):
        for wrong in ("relative.so", observed.SHIM + "/sitecustomize.py"):
            outcome = self.job("train", "2", GSD_LIBRARY=wrong)
            self.assertEqual("", outcome.errors[0])
        self.assertEqual([], self.recording.spools())

    def test_an_interpreter_that_only_computes_writes_no_spool(self):
        self.job("only_torch")
        self.assertEqual([], self.recording.spools())
        self.assertEqual(1, len(self.recording.hellos()))

    def test_data_loader_workers_write_no_spool(self):
        self.job("workers")
        self.assertEqual(1, len(self.recording.spools()))

    def test_ranks_that_are_children(self):
        for case in ("spawned", "forked_ranks"):
            with self.subTest(case):
                before = {spool.pid for spool in self.recording.spools()}
                self.job(case)
                children = [spool for spool in self.recording.spools() if spool.pid not in before]
                self.assertEqual(2, len(children))
                for spool in children:
                    self.assertEqual(1, spool.exited_cleanly)
                    # the first optimiser step comes after the constructor of DDP: all three are seen
                    self.assertEqual(3, len(spool.of("range", phase="optimizer")))
                    self.assertEqual([], [event for event in spool.events if event.name == "?"])

    def test_steps_outside_the_range_are_counted_and_not_described(self):
        self.job("train", "8", GSD_STEPS="3:5")
        spool, = self.recording.spools()
        self.assertEqual(list(range(9)), [step.step for step in spool.of("step")])
        self.assertEqual({3, 4}, {event.step for event in spool.of("range")})

    def test_the_budget_drops_what_can_be_spared(self):
        self.job("train", "90", GSD_BUDGET="0.000001")
        spool, = self.recording.spools()
        self.assertEqual({"done callbacks", "item and tolist", "call sites"},
                         set(spool.facts["budget.dropped"].split(", ")))
        self.assertRegex(spool.facts["budget.reason"], r"^[\d.]+ % of the step over 20 steps, allowed 1e-06 %$")
        late = [event for event in spool.events if event.step is not None and event.step > 80]
        self.assertEqual([], [event for event in late if event.kind == "host_sync" or "site" in event.attributes])
        # collectives now end with the wait for them
        self.assertEqual([], [event for event in late if event.kind == "collective" and event.end == 0])
        self.assertGreater(len([event for event in late if event.kind == "collective"]), 5)

    def test_the_compiler_makes_the_same_graphs(self):
        version = [int(part) for part in re.findall(r"\d+", observed.torch_version())[:1]]
        if version < [2]:
            self.skipTest("torch %s has no compiler" % observed.torch_version())
        plain = observed.run_job("safety_cases", "compiled", ranks=1)
        seen = self.job("compiled")
        self.assertFinished(plain)
        self.assertEqual(plain.outputs[0], seen.outputs[0])
        spool, = self.recording.spools()
        self.assertEqual(6, len(spool.of("range", phase="forward")))
        self.assertNotIn("hook.fault", spool.facts)


if __name__ == "__main__":
    unittest.main()
