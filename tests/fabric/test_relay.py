#!/usr/bin/env python3
"""A fabric that holds back messages of 32 to 64 KiB, and no others, is measured as one. Needs root, for namespaces."""
import os
import statistics
import subprocess
import sys
import unittest

import ranks
import relay

NAMESPACES = tuple("gsdrelay%d-%d" % (os.getpid(), rank) for rank in (0, 1))
DELAY_MS = 60  # above what a delayed acknowledgement costs


class Relayed(ranks.TestCase):
    def setUp(self):
        super().setUp()
        relay.namespaces_or_skip(self, NAMESPACES)

    def through_relay(self, *relay_options, **options):
        port = ranks.free_port()
        between = subprocess.Popen([sys.executable, relay.__file__, "--store-port", str(port), *relay_options, *NAMESPACES],
                                   stdout=subprocess.PIPE, text=True)
        self.addCleanup(between.stdout.close)
        self.addCleanup(between.wait)
        self.addCleanup(between.kill)
        self.assertEqual("ready\n", between.stdout.readline())
        jobs = [self.launched(rank, 2, port, relay.ADDRESSES[0], ["ip", "netns", "exec", NAMESPACES[rank]],
                              interface=relay.INTERFACE, **options) for rank in (0, 1)]
        facts, samples, _ = self.said(jobs[0])
        self.said(jobs[1])
        times = {}
        for sample in samples:
            times.setdefault(sample["bytes"], []).append(sample["us"])
            self.assertIn(sample["wrong"], (0, None))
        return facts, times

    def test_only_the_sizes_that_are_held_back_take_longer(self):
        delay = ["--delay-ms", str(DELAY_MS), "--from", str(32 << 10), "--to", str(64 << 10)]
        facts, times = self.through_relay(*delay, op="send_recv", min=8192, max=131072, repeats=4, rounds=2)
        self.assertEqual(("2", relay.INTERFACE, relay.ADDRESSES[0]), (facts["hosts"], facts["interface"], facts["address"]))
        held = {size for size, values in times.items() if min(values) >= DELAY_MS * 1000}
        self.assertEqual({32 << 10, 64 << 10}, held, {size: statistics.median(values) for size, values in times.items()})

    def test_an_all_reduce_goes_in_four_parts_each_of_which_can_be_held_back(self):
        delay = ["--delay-ms", str(DELAY_MS), "--from", str(8 << 10), "--to", str(16 << 10)]
        _, times = self.through_relay(*delay, op="all_reduce", min=8192, max=131072, repeats=4, rounds=2)
        held = {size for size, values in times.items() if min(values) >= DELAY_MS * 1000}
        self.assertEqual({32 << 10, 64 << 10}, held, {size: statistics.median(values) for size, values in times.items()})


if __name__ == "__main__":
    unittest.main()
