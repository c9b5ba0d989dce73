#!/usr/bin/env python3
"""What a job sends over a veth link is in the series nic, and only that. Makes two network namespaces and removes them."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import textwrap
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/cli"))
import doctor  # noqa: E402

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


def works(*command):
    return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


class Veth(doctor.TestCase):
    def test_bytes_of_a_link(self):
        if os.geteuid() != 0 or shutil.which("ip") is None:
            self.skipTest("needs root and the program ip, for network namespaces")
        for name in (NEAR, FAR):
            if not works("ip", "netns", "add", name):
                self.skipTest("network namespaces cannot be made here")
            self.addCleanup(subprocess.run, ["ip", "netns", "delete", name])
        if not works("ip", "link", "add", "gsdv0", "netns", NEAR, "type", "veth", "peer", "name", "gsdv1", "netns", FAR):
            self.skipTest("veth links cannot be made here")
        for name, device, address in ((NEAR, "gsdv0", "10.213.78.1/24"), (FAR, "gsdv1", "10.213.78.2/24")):
            subprocess.run(["ip", "-n", name, "address", "add", address, "dev", device], check=True)
            subprocess.run(["ip", "-n", name, "link", "set", device, "up"], check=True)
        report = self.folder / "report.json"
        done = subprocess.run(["ip", "netns", "exec", NEAR, doctor.PROGRAM, "run", "--json", report, "--", sys.executable,
                               "-c", textwrap.dedent(SEND)], env=self.environment(), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)
        self.assertEqual(0, done.returncode, done.stderr)
        series = [s for s in json.loads(report.read_text())["series"] if s["name"] == "nic"][0]
        rows = {row["device"]: row for row in (dict(zip(series["columns"], cells)) for cells in series["rows"])}
        self.assertIn("gsdv0", rows)
        sent = rows["gsdv0"]["tx_bytes"]
        self.assertGreaterEqual(sent, PACKETS * PACKET)
        self.assertLess(sent, 1.2 * PACKETS * (PACKET + 42))  # headers; and what the stack says by itself
        self.assertIsNone(rows["gsdv0"]["cnp_sent"])
        self.assertNotIn("eth0", rows)  # of another namespace


if __name__ == "__main__":
    unittest.main()
