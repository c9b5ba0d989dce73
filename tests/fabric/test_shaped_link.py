#!/usr/bin/env python3
"""Two hosts (network namespaces) whose link is shaped by tc tbf: the sweep measures the rate that was set.

Between the two, an all-reduce of S bytes moves S bytes each way. On the wire a full segment of MSS bytes takes MSS + 66:
Ethernet 14, IPv4 20, TCP 32 with time stamps. Sizes are more than 20 bursts, so that what the filter lets through at once
is less than a twentieth. The shortest of the repeats is compared: no call can beat the filter by more than its burst, and
one at least is not held up by other work of this machine. Needs root.
"""
import os
import shutil
import subprocess
import unittest

import ranks

NAMES = tuple("gsdshape%d-%d" % (os.getpid(), rank) for rank in (0, 1))
ADDRESSES = ("10.213.80.1", "10.213.80.2")
INTERFACE = "gsd0"
MSS = 1448
WIRE_SHARE = MSS / (MSS + 66)
MIB = 1 << 20


def run(*command):
    return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


class ShapedLink(ranks.TestCase):
    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("needs root, for network namespaces")
        for program in ("ip", "tc"):
            if shutil.which(program) is None:
                self.skipTest("needs the program " + program)
        for name in NAMES:
            self.addCleanup(run, "ip", "netns", "delete", name)
            self.or_skip("ip", "netns", "add", name)
        self.or_skip("ip", "link", "add", INTERFACE, "netns", NAMES[0], "type", "veth", "peer", "name", INTERFACE, "netns", NAMES[1])
        for name, address in zip(NAMES, ADDRESSES):
            # A fair rival to the filter where it may be chosen; BBR paces itself by what a busy machine acknowledges.
            run("ip", "netns", "exec", name, "sysctl", "-q", "-w", "net.ipv4.tcp_congestion_control=reno")
            for command in (["link", "set", "lo", "up"], ["address", "add", address + "/24", "dev", INTERFACE],
                            ["link", "set", INTERFACE, "gso_max_size", "16384"],
                            ["link", "set", INTERFACE, "up"]):
                self.or_skip("ip", "-n", name, *command)

    def or_skip(self, *command):
        done = run(*command)
        if done.returncode != 0:
            self.skipTest("cannot be made here: %s: %s" % (" ".join(command), done.stderr.strip()))

    def goodput(self, mbits, burst, sizes, repeats):
        """Bytes per second of the shortest all-reduce, by size."""
        for name in NAMES:
            self.or_skip("tc", "-n", name, "qdisc", "add", "dev", INTERFACE, "root", "tbf", "rate", "%dmbit" % mbits,
                         "burst", str(burst), "latency", "400ms")
        port = ranks.free_port()
        jobs = [self.launched(rank, 2, port, ADDRESSES[0], ["ip", "netns", "exec", NAMES[rank]], min=sizes[0],
                              max=sizes[-1], repeats=repeats, rounds=2) for rank in (0, 1)]
        facts, samples, _ = self.said(jobs[0])
        self.said(jobs[1])
        self.assertEqual(("2", INTERFACE, ADDRESSES[0]), (facts["hosts"], facts["interface"], facts["address"]))
        times = {}
        for sample in samples:
            times.setdefault(sample["bytes"], []).append(sample["us"])
        self.assertEqual(list(sizes), sorted(times))
        return {size: size / min(values) * 1e6 for size, values in times.items()}

    def check(self, mbits, burst, sizes, repeats):
        expected = mbits * 1e6 / 8 * WIRE_SHARE
        for size, rate in self.goodput(mbits, burst, sizes, repeats).items():
            self.assertGreater(size, 20 * burst)
            self.assertAlmostEqual(1, rate / expected, delta=0.1, msg="%d bytes at %.4g of %.4g B/s" % (size, rate, expected))

    def test_one_gigabit_a_second(self):
        self.check(1000, 32 << 10, (MIB, 2 * MIB, 4 * MIB, 8 * MIB), 24)

    def test_a_hundred_megabits_a_second(self):
        self.check(100, 16 << 10, (MIB, 2 * MIB, 4 * MIB, 8 * MIB), 4)


if __name__ == "__main__":
    unittest.main()
