#!/usr/bin/env python3
"""Small packets over a veth link between two network namespaces: softirqs and no interrupt, on the CPU of the sender.

What comes of the storm is held against /proc/softirqs and /proc/net/softnet_stat as the test itself reads them."""
import json
import os
import pathlib
import subprocess
import sys
import textwrap
import time
import unittest

from lab import TestCase

NEAR, FAR = f"gsdnear{os.getpid()}", f"gsdfar{os.getpid()}"
SECONDS = 2
STORM = """
    import socket
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.connect(("10.213.80.2", 5009))
    packet = b"x" * 32
    while True:
        try:
            s.send(packet)
        except OSError:
            pass"""
SINK = """
    import socket, time
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind(("10.213.80.2", 5009))
    print("ready", flush=True)
    time.sleep(600)"""


def received():
    """NET_RX softirqs by CPU."""
    lines = pathlib.Path("/proc/softirqs").read_text().splitlines()
    cpus = [int(word[3:]) for word in lines[0].split()]
    words = [line.split() for line in lines if line.split()[0] == "NET_RX:"][0][1:]
    return dict(zip(cpus, map(int, words)))


def backlog():
    """Packets that all CPUs processed and dropped."""
    rows = [line.split() for line in pathlib.Path("/proc/net/softnet_stat").read_text().splitlines()]
    return [sum(int(row[column], 16) for row in rows) for column in (0, 1)]


class PacketStorm(TestCase):
    def setUp(self):
        super().setUp()
        self.need("ip", "taskset")
        self.link((NEAR, "gsdp0", "10.213.80.1"), (FAR, "gsdp1", "10.213.80.2"))
        self.cpu = max(os.sched_getaffinity(0))
        sink = self.start(FAR, SINK, stdout=subprocess.PIPE)
        self.addCleanup(sink.stdout.close)
        sink.stdout.readline()
        self.start(NEAR, STORM)
        time.sleep(0.5)
        before = received()
        time.sleep(0.5)
        rate = 2 * (received()[self.cpu] - before[self.cpu])
        if rate < 5000:
            self.skipTest(f"packets over veth raise no storm here: {rate} softirqs/s")

    def start(self, name, code, **more):
        process = subprocess.Popen(["ip", "netns", "exec", name, "taskset", "-c", str(self.cpu), sys.executable, "-c",
                                    textwrap.dedent(code)], stderr=subprocess.DEVNULL, **more)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def test_softirqs_without_interrupts(self):
        report_file = self.folder / "irq.json"
        runs, (processed, dropped) = received(), backlog()
        # The threshold has a test of its own; how much of a CPU the storm takes is the machine's affair.
        done = self.doctor("irq", "--duration", SECONDS, "--json", report_file, "--journal", self.folder / "journal", "--set",
                           "irq-storm.irq.busiest_cpu_percent=1 %")
        outer = {cpu: count - runs[cpu] for cpu, count in received().items()}
        outer_processed, outer_dropped = [after - before for after, before in zip(backlog(), (processed, dropped))]
        self.assertEqual(0, done.returncode, done.stderr)
        report = json.loads(report_file.read_text())
        rows = {series["name"]: [dict(zip(series["columns"], cells)) for cells in series["rows"]]
                for series in report["series"]}

        counted = {row["cpu"]: row["count"] for row in rows["irq"]
                   if row["source"] == "/proc/softirqs" and row["irq"] == "NET_RX"}
        self.assertLessEqual(counted[self.cpu], outer[self.cpu])
        self.assertGreater(counted[self.cpu], 0.5 * outer[self.cpu])
        self.assertEqual(self.cpu, max(counted, key=counted.get))
        self.assertFalse([row for row in rows["irq"] if "gsdp" in row["device"]], "veth has no interrupts")

        self.assertLessEqual(sum(row["processed"] for row in rows["softnet"]), outer_processed)
        self.assertGreater(sum(row["processed"] for row in rows["softnet"]), 0.5 * outer_processed)
        self.assertLessEqual(sum(row["dropped"] for row in rows["softnet"]), outer_dropped)
        metrics = {(metric["name"], metric["scope"]): metric["value"] for metric in report["metrics"]}
        self.assertIn(("softnet.dropped_per_s", "all"), metrics)

        self.assertIn(f"most often on CPU {self.cpu}", report["facts"]["irq.silent_traffic"])
        finding = [one for one in report["findings"] if one["rule"] == "irq-storm"][0]
        self.assertEqual("fired", finding["state"], finding)
        self.assertTrue(finding["why"].startswith("First ask whether this traffic should be on RDMA"), finding["why"])
        self.assertIn("NET/Socket", finding["try"][0])
        self.assertIn("No interrupts is not no traffic", finding["says"])
        self.assertIn("No interrupts is not no traffic", " ".join(done.stdout.split()))

        times = self.entry(report, "interrupt times")
        if times["tier"] != "A" or times["state"] != "collected":
            self.skipTest("no times, the counts are right: no eBPF here: " + times["reason"])
        timed = {row["cpu"]: row for row in rows["irq"] if row["source"] == "eBPF" and row["irq"] == "NET_RX"}
        self.assertEqual(self.cpu, max(timed, key=lambda cpu: timed[cpu]["soft_us"]))
        self.assertLess(abs(timed[self.cpu]["count"] - counted[self.cpu]), 0.05 * counted[self.cpu])
        self.assertIn("NET_RX takes ", report["facts"]["softirq.costliest"])
        self.assertIn(f"of CPU {self.cpu}: ", report["facts"]["softirq.costliest"])


if __name__ == "__main__":
    unittest.main()
