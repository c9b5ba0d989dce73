#!/usr/bin/env python3
"""run --ab with a rank in each of two namespaces, over 5 Mbit/s: there compression must win, whatever the CPU.

Dense, a step sends 0.6 MB, which take a second; the Top-K hook sends a sixteenth of that and selects among few.
"""
import json
import os
import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/cli"))
import doctor  # noqa: E402

PYTHON = os.environ.get("GSD_TORCH_PYTHON") or "/usr/bin/python3"
CANNOT = 77


class SlowLink(doctor.TestCase):
    def test_compression_saves(self):
        if subprocess.run([PYTHON, "-c", "import torch.distributed as d; assert d.is_gloo_available()"],
                          stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("needs PyTorch with gloo")
        report_file = self.folder / "report.json"
        done = subprocess.run([doctor.PROGRAM, "run", "--ab", "--deep", "off", "--json", report_file, "--", PYTHON,
                               str(ROOT / "samples/lab/two_hosts.py"), "--rate", "5mbit",
                               str(ROOT / "samples/ddp_topk_hook.py"), "--steps", "280", "--width", "160"],
                              env=self.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode == CANNOT:
            self.skipTest(done.stderr.strip())
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        report = json.loads(report_file.read_text())
        values = {metric["name"]: metric for metric in report["metrics"] if metric["scope"] == "all"}
        self.assertEqual("between network namespaces of one host", report["facts"]["ab.network"])
        self.assertEqual("saves", report["facts"]["ab.answer"], done.stdout)
        self.assertEqual(("saves", True), (report["verdict"]["sign"], report["verdict"]["measured"]))
        self.assertLess(values["measured.no_compression.saved_ms"]["p90"], 0)
        self.assertLess(values["ab.with_bytes"]["value"], values["ab.without_bytes"]["value"] / 10)
        self.assertNotIn("ab.one_host", report["facts"])


if __name__ == "__main__":
    unittest.main()
