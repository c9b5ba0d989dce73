#!/usr/bin/env python3
"""The events of collectives, hooks and DDP against what the job is known to do."""
import unittest

from support import observed

ASYNC, IN_HOOK = 4, 8


@observed.needs_library()
@observed.needs_torch()
class Collectives(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.recording = observed.Recording()
        cls.addClassCleanup(cls.recording.remove)
        cls.outcome = observed.run_job("collective_cases", recording=cls.recording)
        cls.plain = observed.run_job("collective_cases")
        cls.ranks = cls.recording.spools()

    def collectives(self, rank, *names):
        self.assertEqual(2, len(self.ranks), str(self.outcome))
        return [event for event in self.ranks[rank].of("collective") if event.name in names]

    def of_size(self, rank, name, elements, width=4):
        found = [event for event in self.collectives(rank, name) if event.bytes == elements * width]
        self.assertEqual(1, len(found), "%s of %d elements" % (name, elements))
        return found[0]

    def test_bytes_and_names(self):
        sizes = [("all_reduce", 10, 4), ("all_reduce", 11, 4), ("all_reduce", 12, 2), ("all_gather", 13, 4),
                 ("broadcast", 14, 4), ("reduce", 15, 4), ("gather", 16, 4), ("scatter", 17, 4)]
        for rank in (0, 1):
            for name, elements, width in sizes:
                event = self.of_size(rank, name, elements, width)
                self.assertEqual({2: "float16", 4: "float32"}[width], event.attributes["dtype"])
                self.assertEqual(elements, event.attributes["elements"])
                self.assertLessEqual(event.start, event.end)
        self.of_size(0, "send", 18)
        self.of_size(1, "recv", 19)

    def test_async_flag(self):
        self.assertEqual(0, self.of_size(0, "all_reduce", 10).flags & ASYNC)
        self.assertEqual(ASYNC, self.of_size(0, "all_reduce", 11).flags & ASYNC)
        self.assertEqual(0, self.of_size(0, "send", 18).flags & ASYNC)
        self.assertEqual(ASYNC, self.of_size(0, "send", 19).flags & ASYNC)
        self.assertEqual(0, self.collectives(0, "barrier")[0].flags & ASYNC)

    def test_call_site(self):
        site = self.of_size(0, "all_reduce", 10).attributes["site"]
        self.assertRegex(site, r"^collective_cases\.py:\d+ in <module>$")

    def test_groups_have_one_name_on_all_ranks_and_count_for_themselves(self):
        world = {self.of_size(rank, "all_reduce", 10).group for rank in (0, 1)}
        pair = {self.of_size(rank, "all_reduce", 20).group for rank in (0, 1)}
        self.assertEqual({"default_pg"}, world)
        self.assertEqual(1, len(pair))
        self.assertNotEqual(world, pair)
        for rank in (0, 1):
            self.assertEqual([0, 1], [self.of_size(rank, "all_reduce", size).sequence for size in (20, 21)])
            numbers = [event.sequence for event in self.ranks[rank].of("collective") if event.group == "default_pg"]
            self.assertEqual(list(range(len(numbers))), numbers)

    def test_waits_name_their_collective(self):
        event = self.of_size(0, "all_reduce", 11)
        waits = [wait for wait in self.ranks[0].of("wait") if wait.correlation == event.reference]
        self.assertEqual(1, len(waits))
        self.assertLessEqual(waits[0].start, waits[0].end)

    def test_a_future_nobody_waits_for_ends_too(self):
        self.assertGreater(self.of_size(0, "all_reduce", 22).end, 0)

    def test_nothing_stays_open(self):
        for spool in self.ranks:
            self.assertEqual([], [event for event in spool.events if event.end == 0 and event.kind != "step"])
            self.assertNotIn("hook.fault", spool.facts)

    def test_errors_are_the_jobs_own(self):
        self.assertEqual(self.plain.outputs, self.outcome.outputs)
        self.assertIn("raised", self.plain.outputs[0])

    def test_values_read_back(self):
        names = [event.name for event in self.ranks[0].of("host_sync")]
        self.assertEqual(1, names.count("Tensor.item"))
        self.assertEqual(1, names.count("Tensor.tolist"))

    def test_facts(self):
        facts = self.ranks[1].facts
        self.assertEqual(("1", "2", "gloo", "none", "cpu"),
                         tuple(facts[key] for key in ("rank", "world_size", "backend", "framework", "device")))
        self.assertEqual(observed.torch_version(), facts["torch"])
        for patch in ("ProcessGroup.allreduce", "Work.wait", "Future.then", "autograd.backward", "Tensor.item",
                      "Optimizer.step", "DataLoader.next", "DistributedDataParallel.forward", "Engine.queue_callback"):
            self.assertEqual("applied", facts["patch." + patch])
        self.assertEqual([], [name for name, value in facts.items() if name.startswith("patch.") and "fail" in value])


@observed.needs_library()
@observed.needs_torch()
class Training(unittest.TestCase):
    """Top-K in a comm hook, and no hook, 14 steps each in one process."""

    @classmethod
    def setUpClass(cls):
        cls.recording = observed.Recording()
        cls.addClassCleanup(cls.recording.remove)
        cls.outcome = observed.run_job("training", "topk,none", "14", LEAVE_AT_ONCE="1", recording=cls.recording)
        cls.spool = (cls.recording.spools() or [None])[0]

    def setUp(self):
        self.assertIsNotNone(self.spool, str(self.outcome))

    def in_step(self, number, kind, name=None, **fields):
        return self.spool.of(kind, name, step=number, **fields)

    def test_one_step_has_its_phases_in_order(self):
        phases = [event.phase for event in self.in_step(5, "range")]
        self.assertEqual(["forward", "backward", "compress", "decompress", "optimizer"], phases)

    def test_the_hook_event(self):
        hook, = self.in_step(5, "range", "topk_hook")
        self.assertEqual(1125 * 4, hook.bytes)
        self.assertEqual(0, hook.sequence)
        self.assertRegex(hook.attributes["site"], r"^training\.py:\d+ in topk_hook$")
        self.assertEqual(IN_HOOK, hook.flags & IN_HOOK)

    def test_collectives_of_the_hook(self):
        values, indices = self.in_step(5, "collective", "all_gather")
        self.assertEqual(("float32", 112), (values.attributes["dtype"], values.attributes["elements"]))
        self.assertEqual(("int64", 112 * 8), (indices.attributes["dtype"], indices.bytes))
        for event in (values, indices):
            self.assertEqual(ASYNC | IN_HOOK, event.flags)
            self.assertRegex(event.attributes["site"], r"in topk_hook$")

    def test_the_callback_is_decompression_of_that_hook(self):
        callback, = self.in_step(5, "range", phase="decompress")
        self.assertEqual("topk_hook.<locals>.rebuild", callback.name)
        self.assertEqual(self.in_step(5, "range", "topk_hook")[0].reference, callback.correlation)

    def test_backward_says_when_compute_ended(self):
        backward, = self.in_step(5, "range", phase="backward")
        self.assertLess(backward.start, backward.attributes["compute_end_ns"])
        self.assertLess(backward.attributes["compute_end_ns"], backward.end)
        # ... which is after the last bucket went into the hook
        self.assertGreater(backward.attributes["compute_end_ns"], self.in_step(5, "range", "topk_hook")[0].end)

    def test_the_loggers_times_lie_inside_the_steps_they_describe(self):
        marks = self.spool.of("mark", "ddp_logger")
        self.assertEqual(20, len(marks))   # iterations 1 to 10 of both trainings
        for mark in marks[:10]:
            step = self.spool.of("step")[mark.step - 1]
            times = mark.attributes
            self.assertEqual(8, mark.source)
            self.assertTrue(step.start <= times["forward_start_ns"] <= times["backward_compute_start_ns"]
                            <= times["backward_compute_end_ns"] <= times["backward_comm_end_ns"] <= step.end,
                            (step, times))

    def test_facts_of_ddp(self):
        facts = self.spool.facts
        # two models have been built
        self.assertEqual(("2", "2250", "9000", "25", "4500"), tuple(
            facts["ddp." + key] for key in ("count", "parameters", "gradient_bytes", "bucket_cap_mb", "bucket_bytes")))
        self.assertEqual(("custom", "topk_hook", "0"),
                         tuple(facts["hook." + key] for key in ("kind", "name", "start_step")))

    def test_ddps_own_all_reduce_is_seen_or_said_to_be_unseen(self):
        unhooked = [event for event in self.spool.of("collective", "all_reduce") if event.step and event.step > 20]
        if "not_covered.ddp_all_reduce" in self.spool.facts:
            self.assertEqual([], unhooked)
        else:
            self.assertEqual({4500}, {event.bytes for event in unhooked})
            self.assertGreater(len(unhooked), 5)

    def test_cost_is_reported(self):
        self.assertGreater(self.spool.self_ns, 0)
        self.assertNotIn("hook.fault", self.spool.facts)


if __name__ == "__main__":
    unittest.main()
