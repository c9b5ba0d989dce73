#!/usr/bin/env python3
"""What a job sends over a veth link is in the series nic, and only that. Makes two network namespaces and removes them."""
import json
import os
import shutil
import subprocess
import sys
import textwrap
import unittest

from lab import TestCase, doctor, works

NEAR, FAR = f"gsdnear{os.getpid()}", f"gsdfar{os.getpid()}"
PACKETS, PACKET = 2000, 1000
SEND = f"""
    import socket, time
    time.sleep(0.3)
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for i in range({PACKETS}):
        s.sendto(b"x" * {PACKET}, ("10.213.78.2", 9))
        if i % 100 == 0: time.sleep(0.01)
    time.sleep(0.3)"""


RECEIVE = """
    import socket
    s = socket.create_server(("10.213.78.2", 5010))
    print("ready", flush=True)
    connection = s.accept()[0]
    while connection.recv(1 << 16):
        pass"""
TRANSFER = """
    import socket, time
    time.sleep(0.8)  # until the first look
    s = socket.create_connection(("10.213.78.2", 5010))
    end = time.monotonic() + 4
    while time.monotonic() < end:
        s.send(b"x" * 65536)
    s.close()
    time.sleep(0.3)"""


class Veth(TestCase):
    def setUp(self):
        super().setUp()
        self.need("ip")
        self.link((NEAR, "gsdv0", "10.213.78.1"), (FAR, "gsdv1", "10.213.78.2"))

    def run_near(self, code):
        report = self.folder / "report.json"
        done = subprocess.run(["ip", "netns", "exec", NEAR, doctor.PROGRAM, "run", "--json", report, "--", sys.executable,
                               "-c", textwrap.dedent(code)], env=self.environment(), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)
        self.assertEqual(0, done.returncode, done.stderr)
        parsed = json.loads(report.read_text())
        series = [s for s in parsed["series"] if s["name"] == "nic"][0]
        return parsed, {row["device"]: row for row in (dict(zip(series["columns"], cells)) for cells in series["rows"])}

    def retransmits(self):
        """As the kernel counts them in the namespace."""
        text = subprocess.run(["ip", "netns", "exec", NEAR, "cat", "/proc/net/snmp"], stdout=subprocess.PIPE, text=True,
                              check=True).stdout
        names, values = [line.split() for line in text.splitlines() if line.startswith("Tcp:")]
        return int(values[names.index("RetransSegs")])

    def test_lost_segments_are_a_finding(self):
        """One packet in fifty is lost where it arrives: a random word below a fiftieth of 2^32 drops it."""
        loss = ["filter", "add", "dev", "gsdv1", "ingress", "bpf", "da", "bytecode",
                "4,32 0 0 4294963256,53 1 0 85899346,6 0 0 2,6 0 0 0"]
        if shutil.which("tc") is None or not (works("tc", "-n", FAR, "qdisc", "add", "dev", "gsdv1", "clsact") and
                                              works("tc", "-n", FAR, *loss)):
            self.skipTest("needs the program tc, clsact and cls_bpf")
        receiver = subprocess.Popen(["ip", "netns", "exec", FAR, sys.executable, "-c", textwrap.dedent(RECEIVE)],
                                    stdout=subprocess.PIPE)
        self.addCleanup(receiver.stdout.close)
        self.addCleanup(receiver.wait)
        self.addCleanup(receiver.kill)
        receiver.stdout.readline()
        report, rows = self.run_near(TRANSFER)
        lost = self.retransmits()  # of a namespace that was made for this
        self.assertLessEqual(rows["tcp"]["retransmits"], lost)
        self.assertGreaterEqual(rows["tcp"]["retransmits"], 0.8 * lost)
        if rows["tcp"]["retransmits"] < 30 or rows["tcp"]["out_segments"] < 1000:
            self.skipTest(f"nothing to judge: {rows['tcp']['retransmits']} of {rows['tcp']['out_segments']} segments")
        finding = [one for one in report["findings"] if one["rule"] == "packet-loss" and one["scope"] == "device:tcp"][0]
        self.assertEqual("fired", finding["state"], finding)

    def test_bytes_of_a_link(self):
        _, rows = self.run_near(SEND)
        self.assertIn("gsdv0", rows)
        sent = rows["gsdv0"]["tx_bytes"]
        self.assertGreaterEqual(sent, PACKETS * PACKET)
        self.assertLess(sent, 1.2 * PACKETS * (PACKET + 42))  # headers; and what the stack says by itself
        self.assertIsNone(rows["gsdv0"]["cnp_sent"])
        self.assertNotIn("eth0", rows)  # of another namespace


if __name__ == "__main__":
    unittest.main()
