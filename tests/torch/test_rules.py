#!/usr/bin/env python3
"""The hook's own rules, without torch: when a window is due, what is dropped, how clocks and names are read."""
import json
import os
import sys
import unittest

from support import observed

sys.path.insert(0, observed.SHIM)
from gradsync_hook import hello, known_hooks, payload  # noqa: E402
from gradsync_hook.behaviour import Behaviour  # noqa: E402
from gradsync_hook.budget import Budget, from_text  # noqa: E402
from gradsync_hook.ddp_logger import offset  # noqa: E402
from gradsync_hook.install import _range  # noqa: E402
from gradsync_hook.patches import Patches  # noqa: E402
from gradsync_hook.state import CALL_SITE, COMPLETION, HOST_SYNC, State, state  # noqa: E402

PROFILED = (1000, "float32", False)   # bytes, main dtype, compressing


class Rearming(unittest.TestCase):
    CASES = [
        # what later steps do, the reason that is given, after how many of them
        ([(1000, "float32", False)] * 9, None, 9),
        ([(1190, "float32", False)] * 9, None, 9),
        ([(1210, "float32", False)] * 9, "bytes changed", 3),
        ([(700, "float32", False)] * 9, "bytes changed", 3),
        ([(1000, "float16", False)] * 9, "wire dtype changed", 3),
        ([(1000, "float32", True)] * 9, "compression began", 3),
        # a loss averaged now and then, an evaluation: no lasting change
        ([(5000, "float32", False), (1000, "float32", False)] * 5, None, 10),
        ([(0, None, False)] * 2 + [(1000, "float32", False)] * 5, None, 7),
    ]

    def test_lasting_changes_only(self):
        for later, reason, count in self.CASES:
            with self.subTest(later=later[0], reason=reason):
                behaviour = Behaviour()
                behaviour.profiled([PROFILED] * 5)
                given = [behaviour.judge(step) for step in later]
                self.assertEqual(reason, next(filter(None, given), None))
                if reason:
                    self.assertEqual(count, given.index(reason) + 1)

    def test_a_hook_past_its_warm_up_counts_at_once(self):
        behaviour = Behaviour()
        behaviour.profiled([PROFILED])
        behaviour.hook_started()
        self.assertEqual(["hook started", None], [behaviour.judge(PROFILED), behaviour.judge(PROFILED)])

    def test_the_first_bytes_have_no_earlier_type(self):
        behaviour = Behaviour()
        behaviour.profiled([(0, None, False)] * 5)
        self.assertEqual([None, None, "bytes changed"], [behaviour.judge(PROFILED) for _ in range(3)])

    def test_nothing_is_due_before_the_first_window(self):
        behaviour = Behaviour()
        behaviour.hook_started()
        self.assertIsNone(behaviour.judge(PROFILED))


class BudgetRule(unittest.TestCase):
    def setUp(self):
        self.kept = list(state.cost), state.follow_completion, state.find_call_sites
        state.cost[:] = [0] * len(state.cost)
        self.addCleanup(self.restore)

    def restore(self):
        state.cost[:], state.follow_completion, state.find_call_sites = self.kept

    def test_the_dearest_part_goes_first_and_only_above_the_budget(self):
        budget = Budget(0.5)
        state.cost[COMPLETION], state.cost[CALL_SITE] = 900, 100
        budget(20, 4999, 1000000)   # 0.4999 %
        self.assertEqual([], budget.dropped)
        state.cost[COMPLETION], state.cost[CALL_SITE] = 1800, 200
        budget(20, 5001, 1000000)
        self.assertEqual([COMPLETION], budget.dropped)
        state.cost[CALL_SITE] = 300
        budget(20, 9000, 1000000)
        self.assertEqual([COMPLETION, CALL_SITE], budget.dropped)
        self.assertEqual((False, False), (state.follow_completion, state.find_call_sites))
        budget(20, 9000, 1000000)   # nothing left that costs anything
        self.assertEqual([COMPLETION, CALL_SITE], budget.dropped)
        self.assertNotIn(HOST_SYNC, budget.dropped)

    def test_the_variable(self):
        for text, percent in ((None, 0.5), ("", 0.5), ("x", 0.5), ("-1", 0.5), ("2", 2.0), ("0.1", 0.1), ("0", 0.0)):
            self.assertEqual(percent, from_text(text).percent, text)


class Reading(unittest.TestCase):
    def test_the_loggers_clock_is_recognised(self):
        wall, monotonic = 1_700_000_000_000_000_000, 5_000_000_000
        self.assertEqual(monotonic - wall, offset(wall - 1000, monotonic, wall))
        self.assertEqual(0, offset(monotonic - 1000, monotonic, wall))
        for nonsense in (0, wall + 10 ** 9, wall - 10 ** 15):
            self.assertIsNone(offset(nonsense, 10 ** 18, wall), nonsense)

    def test_step_ranges(self):
        for text, wanted in (("all", (0, None)), ("3:8", (3, 8)), (":8", (0, 8)), ("3:", (3, None)),
                             ("x:y", (0, None)), ("", (0, None))):
            self.assertEqual(wanted, _range(text), text)

    def test_bytes_of_arguments(self):
        class Tensor:
            def __init__(self, count, dtype="float32"):
                self.count, self.dtype = count, dtype
                self.device = type("Device", (), {"type": "cpu"})

            def numel(self):
                return self.count

            def element_size(self):
                return 2 if self.dtype == "float16" else 4

        one, two = Tensor(3), Tensor(5, "float16")
        for args, which, wanted in (((one,), 0, (12, 3)), (([one],), 0, (12, 3)), (([one, two],), 0, (22, 8)),
                                    (([[one, one]], [two]), 1, (10, 5)), (([[one, one], [two]], None), 0, (34, 11)),
                                    ((), -1, (0, 0)), (([], None), 0, (0, 0))):
            self.assertEqual(wanted, payload.measure(args, {}, which)[:2])
        self.assertEqual((12, 3), payload.measure((), {"tensors": [one], "opts": None}, 0)[:2])

    def test_known_hooks_by_module_and_name(self):
        def named(module, name):
            return type("Hook", (), {"__module__": module, "__qualname__": name})
        package = "torch.distributed.algorithms.ddp_comm_hooks."
        for hook, kind in ((named(package + "default_hooks", "fp16_compress_hook"), "fp16_compress"),
                           (named(package + "default_hooks", "bf16_compress_wrapper.<locals>.f"), "bf16_compress"),
                           (named(package + "powerSGD_hook", "powerSGD_hook"), "powersgd"),
                           (named(package + "debugging_hooks", "noop_hook"), "custom"),
                           (named("train", "fp16_compress_hook"), "custom"), (object(), "custom")):
            self.assertEqual(kind, known_hooks.kind(hook))

    def test_powersgd_counts_down(self):
        counting = type("State", (), {"start_powerSGD_iter": 10, "iter": 4})
        self.assertEqual(6, known_hooks.iterations_before_compression(counting))
        counting.iter = 12
        self.assertEqual(0, known_hooks.iterations_before_compression(counting))
        self.assertIsNone(known_hooks.iterations_before_compression(None))

    def test_hello_is_json_whatever_the_arguments(self):
        for text in ('"', "\\", "\n\t\x00\x7f", "\u00e9\u4e2d\U0001f600", "\udcff", ""):
            wanted = text.replace("\udcff", "\ufffd")
            self.assertEqual(wanted, json.loads(hello._quoted(text)))
        json.loads(hello.text())


class Patching(unittest.TestCase):
    def test_inherited_attributes_are_shadowed_and_uncovered_again(self):
        class Base:
            def greet(self):
                return "base"

        class Derived(Base):
            pass

        patches = Patches()
        patches.replace("greet", Derived, "greet", lambda original: lambda self: "patched " + original(self))
        patches.replace("nothing", Derived, "nothing", lambda original: None)
        patches.replace("no owner", None, "greet", lambda original: None)
        patches.replace("broken", Base, "greet", lambda original: 1 / 0)
        self.assertEqual(("patched base", "base"), (Derived().greet(), Base().greet()))
        self.assertEqual(["applied", "missing", "missing", "failed: ZeroDivisionError: division by zero"],
                         [patches.outcome[name] for name in ("greet", "nothing", "no owner", "broken")])
        patches.undo()
        patches.undo()
        self.assertEqual("base", Derived().greet())
        self.assertNotIn("greet", vars(Derived))

    def test_what_others_wrapped_around_ours_stays(self):
        class Owner:
            value = 1

        patches = Patches()
        patches.replace("value", Owner, "value", lambda original: 2)
        Owner.value = 3
        patches.undo()
        self.assertEqual(3, Owner.value)

    def test_the_third_fault_disarms(self):
        taken_back = []
        fresh = State()
        fresh.on_fatal = lambda: taken_back.append(True)
        fresh.on = fresh.active = True
        for count in range(1, 5):
            fresh.fault("test", ValueError())
            self.assertEqual(count < 3, fresh.on)
        self.assertEqual([True], taken_back)


if __name__ == "__main__":
    os.environ.pop("GSD_RECORDING", None)
    unittest.main()
