#!/usr/bin/env python3
"""Two ranks under one doctor, each in a network namespace of its own: their bytes are those of these namespaces, whatever
passes through the doctor's own."""
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


class WireBytes(doctor.TestCase):
    def test_of_the_ranks_namespaces(self):
        if subprocess.run([PYTHON, "-c", "import torch.distributed as d; assert d.is_gloo_available()"],
                          stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("needs PyTorch with gloo")
        report_file = self.folder / "report.json"
        done = subprocess.run([doctor.PROGRAM, "run", "--deep", "off", "--json", report_file, "--", PYTHON,
                               str(ROOT / "samples/lab/two_hosts.py"), "--rate", "200mbit",
                               str(ROOT / "samples/ddp_healthy.py"), "--steps", "60"],
                              env=self.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode == CANNOT:
            self.skipTest(done.stderr.strip())
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        report = json.loads(report_file.read_text())
        values = {(metric["name"], metric["scope"]): metric["value"] for metric in report["metrics"]}
        spaces = report["facts"]["net_namespace"].removeprefix("mixed: ").split(", ")
        self.assertEqual(2, len(spaces), "a namespace for each rank")
        self.assertEqual("interfaces", report["facts"]["nic.path"])
        sent = {scope: value for (name, scope), value in values.items() if name == "nic.tx_bytes_per_step"}
        links = [scope for scope in sent if scope.startswith("device:gsdl")]
        self.assertEqual(set(spaces), {scope.split("@")[1] for scope in links}, sent)
        # Nothing is charged to a namespace in which no rank is, the doctor's own for example.
        self.assertTrue(all("@" in scope for scope in sent), sent)
        handed = values["comm.bytes_per_step", "all"]
        for scope in links:
            self.assertGreater(sent[scope], 0.8 * handed)  # the ends of the window may cut a step
            self.assertLess(sent[scope], 1.5 * handed)
        ratio = 200 * handed / sum(sent[scope] for scope in links)
        self.assertAlmostEqual(ratio, values["nic.effective_ratio_percent", "all"], places=6)
        for space in spaces:
            self.assertIn(("nic.retransmit_count", "device:tcp@" + space), values)
        self.assertNotIn(("nic.retransmit_count", "device:tcp"), values)


if __name__ == "__main__":
    unittest.main()
