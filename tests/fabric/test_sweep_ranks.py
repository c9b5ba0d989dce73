#!/usr/bin/env python3
"""Sweeps of several processes on this host: every operation gives right results, and whoever fails is named."""
import collections
import os
import signal
import socket
import time
import unittest

import ranks

OPERATIONS = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "send_recv")
TYPES = ("float", "half", "int8")
LONG = {"min": 1024, "max": 4194304, "repeats": 1000, "rounds": 1000}


def gone(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


class Results(ranks.TestCase):
    def test_every_operation_and_type_is_right_with_two_and_three_ranks(self):
        for count in (2, 3):
            for operation in OPERATIONS:
                for kind in TYPES:
                    with self.subTest(ranks=count, operation=operation, type=kind):
                        job = self.start(ranks=count, op=operation, type=kind, min=1, max=262144, repeats=2, rounds=1)
                        _, samples, interrupted = self.said(job)
                        self.assertFalse(interrupted)
                        self.assertEqual({operation}, {sample["op"] for sample in samples})
                        checked = [sample["wrong"] for sample in samples if sample["wrong"] is not None]
                        self.assertEqual([0] * len(checked), checked)
                        # One check a visit, one visit a size here.
                        self.assertEqual(len({sample["bytes"] for sample in samples}), len(checked))
                        self.assertTrue(all(sample["us"] > 0 for sample in samples))

    def test_each_size_is_repeated_as_often_as_asked(self):
        _, samples, _ = self.said(self.start(ranks=2, min=1024, max=8192, repeats=10, rounds=4))
        repeats = collections.defaultdict(list)
        for sample in samples:
            repeats[sample["bytes"]].append(sample["repeat"])
        self.assertEqual({size: list(range(10)) for size in (1024, 2048, 4096, 8192)}, repeats)

    def test_facts_say_that_one_host_is_no_network(self):
        facts, _, _ = self.said(self.start(ranks=2, max=1024))
        self.assertEqual(("gloo", "lo", "127.0.0.1", "2", "1", "shared"),
                         tuple(facts[name] for name in ("backend", "interface", "address", "ranks", "hosts", "clocks")))
        self.assertEqual("none, one host", facts["network"])
        self.assertEqual((socket.gethostname(), "2"), (facts["host_names"], facts["sweep.ranks_per_host"]))


class Launched(ranks.TestCase):
    def test_ranks_of_a_launcher_meet_beside_the_jobs_own_port(self):
        port = ranks.free_port()
        jobs = [self.launched(rank, 3, port, max=4096) for rank in range(3)]
        facts, samples, _ = self.said(jobs[0])
        self.assertEqual(("3", "torchrun"), (facts["ranks"], facts["launcher"]))
        self.assertEqual(30, len(samples))
        for job in jobs[1:]:
            self.assertEqual([], self.said(job)[1])

    def test_a_rank_that_does_not_arrive_is_named(self):
        port = ranks.free_port()
        jobs = [self.launched(rank, 4, port, timeout_ms=1500) for rank in (0, 2)]
        for job in jobs:
            self.assertIn("no word from ranks 1, 3: did not arrive within 1.5 s (2 of 4 ranks are here)", self.refused(job))

    def test_rank_0_that_does_not_arrive_is_named(self):
        self.assertIn("no word from rank 0 at 127.0.0.1:", self.refused(self.launched(1, 2, ranks.free_port(), timeout_ms=500)))

    def test_ranks_that_were_asked_for_different_sizes_refuse_each_other(self):
        port = ranks.free_port()
        jobs = [self.launched(rank, 2, port, options="--max %dM" % (rank + 1)) for rank in (0, 1)]
        self.assertIn('it was asked for "--max 2M", rank 0 for "--max 1M"', self.refused(jobs[1]))
        self.assertRegex(self.refused(jobs[0]), r'cannot sweep with rank 1 on .*: it was asked for "--max 2M"')

    def test_a_port_that_is_taken_is_said(self):
        with socket.socket() as listener:
            listener.bind(("", 0))
            listener.listen()
            port = listener.getsockname()[1]
            errors = self.refused(self.launched(0, 2, port))
            self.assertIn("cannot meet the other ranks at port %d: Address already in use" % port, errors)
            self.assertIn("GSD_SWEEP_PORT", errors)

    def test_what_listens_there_but_is_no_rank_0_is_not_waited_for(self):
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            listener.listen()
            errors = self.refused(self.launched(1, 2, listener.getsockname()[1], timeout_ms=500))
            self.assertIn("no rank 0 at 127.0.0.1:", errors)

    def test_one_rank_is_refused_with_the_reason(self):
        self.assertIn("one rank sends nothing over the fabric", self.refused(self.launched(0, 1, ranks.free_port())))
        self.assertIn("one rank sends nothing over the fabric", self.refused(self.start(ranks=1)))

    def test_an_interface_that_does_not_exist_is_refused_with_those_there_are(self):
        errors = self.refused(self.start(ranks=2, interface="gsdnone0"))
        self.assertIn("no interface gsdnone0 on rank", errors)
        self.assertIn("lo (127.0.0.1)", errors)

    def test_a_plug_in_that_is_not_there_is_said(self):
        errors = self.refused(self.start(ranks=2, plugins="/nowhere"))
        self.assertIn("cannot load /nowhere/libgradsync_gloo.so: it is not there: this program was built without it", errors)


class Ends(ranks.TestCase):
    def begun(self, **options):
        """A sweep that has printed its first fact, and its forked ranks."""
        job = self.start(**LONG, **options)
        self.assertIn("fact", job.stdout.readline())
        return job, self.children_of(job, options["ranks"] - 1)

    def test_a_killed_rank_ends_the_others_and_is_named(self):
        job, children = self.begun(ranks=3)
        time.sleep(0.2)
        os.kill(children[1], signal.SIGKILL)
        self.assertIn("the sweep ended because of rank 2: was killed by signal 9", self.refused(job))
        self.assertTrue(all(gone(pid) for pid in children))

    def test_a_rank_of_another_command_that_is_killed_is_named_by_all(self):
        port = ranks.free_port()
        jobs = [self.launched(rank, 3, port, **LONG) for rank in range(3)]
        self.assertIn("fact", jobs[0].stdout.readline())
        jobs[1].kill()
        for survivor in (jobs[0], jobs[2]):
            self.assertIn("the sweep ended because of rank 1: its process ended", self.refused(survivor))

    def test_a_killed_leader_ends_the_others(self):
        port = ranks.free_port()
        jobs = [self.launched(rank, 3, port, **LONG) for rank in range(3)]
        self.assertIn("fact", jobs[0].stdout.readline())
        jobs[0].kill()
        for survivor in jobs[1:]:
            self.assertIn("rank 0", self.refused(survivor))

    def test_forked_ranks_die_with_a_killed_leader(self):
        job, children = self.begun(ranks=3)
        job.kill()
        end = time.monotonic() + 20
        while time.monotonic() < end and not all(gone(pid) for pid in children):
            time.sleep(0.02)
        self.assertTrue(all(gone(pid) for pid in children))

    def test_ctrl_c_keeps_what_was_measured_and_ends_all(self):
        job, children = self.begun(ranks=2)
        time.sleep(1)
        for pid in (job.pid, *children):  # as a terminal does
            os.kill(pid, signal.SIGINT)
        _, samples, interrupted = self.said(job)
        self.assertTrue(interrupted)
        self.assertGreater(len(samples), 0)
        self.assertTrue(all(gone(pid) for pid in children))

    def test_ctrl_c_while_a_rank_is_awaited_ends_at_once(self):
        for rank in (0, 1):
            with self.subTest(rank=rank):
                job = self.launched(rank, 2, ranks.free_port(), timeout_ms=300000)
                time.sleep(0.5)
                job.send_signal(signal.SIGINT)
                self.assertIn("stopped while the ranks met", self.refused(job))
                self.assertEqual(130, job.returncode)

    def test_the_time_limit_does_the_same(self):
        _, samples, interrupted = self.said(self.start(ranks=2, limit_ms=700, **LONG))
        self.assertTrue(interrupted)
        self.assertGreater(len(samples), 0)


if __name__ == "__main__":
    unittest.main()
