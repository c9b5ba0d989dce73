#!/usr/bin/env python3
"""Where steps begin and end, for every way of calling optimisers that we know."""
import unittest

from support import observed


@observed.needs_library()
@observed.needs_torch()
class StepRule(unittest.TestCase):
    """The jobs run once; every scenario is a forked child with a spool of its own."""

    @classmethod
    def setUpClass(cls):
        cls.recording = observed.Recording()
        cls.addClassCleanup(cls.recording.remove)
        cls.outcome = observed.run_job("step_cases", ranks=1, recording=cls.recording)
        spools = {spool.pid: spool for spool in cls.recording.spools()}
        cls.by_name = {}
        for line in cls.outcome.outputs[0].splitlines():
            name, pid, _ = line.split()
            cls.by_name[name] = spools.get(int(pid))
        cls.parent_has_spool = len(spools) > sum(1 for spool in cls.by_name.values() if spool)

    def steps_of(self, scenario, *expected):
        """Asserts the kinds of events within each step, in order; an event counts where it begins."""
        self.assertEqual([0], self.outcome.codes, str(self.outcome))
        spool = self.by_name[scenario]
        if spool is None:
            self.fail("%s left no spool\n%s" % (scenario, self.outcome))
        short = {"backward": "b", "optimizer": "o", "data": "d", "forward": "f"}
        steps = spool.of("step")
        self.assertEqual(list(range(len(steps))), [step.step for step in steps])
        found = ["".join(short[event.phase] for event in spool.of("range") if event.step == step.step)
                 for step in steps]
        self.assertEqual(list(expected), found)
        for before, after in zip(steps, steps[1:]):
            self.assertEqual(before.end, after.start)
        return spool

    def test_the_parent_that_only_imports_torch_writes_nothing(self):
        self.assertFalse(self.parent_has_spool)

    def test_plain_loop(self):
        # the first optimiser step is what shows that the process trains: step 0 is seen from its end on
        spool = self.steps_of("plain", "bo", "bo", "bo", "bo")
        for step in spool.of("step")[1:]:
            ended = [event.end for event in spool.of("range", phase="optimizer") if event.step == step.step - 1]
            self.assertLess(0, step.start - ended[-1], "the boundary lies after the optimiser's event")

    def test_data_loader(self):
        self.steps_of("with_loader", "dbo", "dbo", "dbo", "d")

    def test_gradient_accumulation_is_one_step(self):
        self.steps_of("accumulation", "bbbbo", "bbbbo")

    def test_optimizers_in_a_row_are_one_step(self):
        self.steps_of("two_optimizers_in_a_row", "boo", "boo")

    def test_optimizers_in_turn_make_a_step_each_and_say_which(self):
        spool = self.steps_of("two_optimizers_in_turn", "bo", "bo", "bo", "bo", "bo")
        # the last step is still open
        self.assertEqual(["Adam#1", "SGD#0", "Adam#1", "SGD#0", None],
                         [step.attributes.get("optimizers") for step in spool.of("step")])

    def test_closures_stay_inside_their_step(self):
        # LBFGS evaluates inside step(): from the second call on each step is one call
        spool = self.by_name["closure"]
        self.assertEqual(3, len(spool.of("range", phase="optimizer")) - 1)
        self.assertIn(len(spool.of("step")), (3, 4))

    def test_a_subclass_that_calls_super_is_one_step(self):
        spool = self.by_name["subclass_calls_super"]
        self.assertEqual(2, len(spool.of("step")))
        self.assertEqual([], [event for event in spool.of("range") if event.end == 0])

    def test_an_optimizer_that_raises_does_not_end_the_step(self):
        self.steps_of("step_that_raises", "bbo", "bo")

    def test_a_step_that_the_scaler_skips_counts(self):
        if "scaler_that_skips" not in self.by_name:
            self.skipTest("this torch has no GradScaler for the CPU")
        self.steps_of("scaler_that_skips", "b", "bo", "bo")

    def test_optimizers_inside_backward_end_with_it(self):
        spool = self.by_name["optimizer_inside_backward"]
        backward = spool.of("range", phase="backward")
        self.assertEqual(3, len(backward))
        for step, before in zip(spool.of("step")[1:], backward):
            self.assertGreaterEqual(step.start, before.end)

    def test_a_scheduler_changes_nothing(self):
        self.steps_of("scheduler", "bo", "bo")

    def test_without_optimizer_nothing_is_recorded(self):
        self.assertIsNone(self.by_name["no_optimizer"])

    def test_a_backward_that_raises(self):
        spool = self.steps_of("backward_that_raises", "bo", "bo", "bo")
        self.assertEqual(3, len([event for event in spool.of("range", phase="backward") if event.end]))

    def test_children_say_goodbye(self):
        for name, spool in self.by_name.items():
            if spool is not None:
                self.assertEqual(1, spool.exited_cleanly, name)


if __name__ == "__main__":
    unittest.main()
