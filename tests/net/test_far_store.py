#!/usr/bin/env python3
"""A rank that is 8 ms from the job's store and sends most: both must be found of it, and neither of a job without delay."""
import os
import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/cli"))
import doctor  # noqa: E402

PYTHON = os.environ.get("GSD_TORCH_PYTHON") or "/usr/bin/python3"
JOB = ROOT / "tests/net/far_store_job.py"
RULES = ("slow-link-rank", "adaptive-rate-direction")


class FarStore(doctor.TestCase):
    def found(self, delay_ms):
        report, done = self.run_job(PYTHON, JOB, delay_ms, 100, options=["--quality", "-q", "--deep", "off"])
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        return report, {(one["rule"], one["scope"]): one["state"] for one in report["findings"] if one["rule"] in RULES}

    def setUp(self):
        super().setUp()
        if subprocess.run([PYTHON, "-c", "import torch.distributed as d; assert d.is_gloo_available()"],
                          stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("needs PyTorch with gloo")

    def test_the_rank_behind_the_long_way(self):
        report, found = self.found(8)
        for rule in RULES:
            self.assertEqual("fired", found.get((rule, "rank:1")), found)
            self.assertEqual("clean", found.get((rule, "rank:0")), found)
        metrics = {(metric["name"], metric["scope"]): metric["value"] for metric in report["metrics"]}
        self.assertGreaterEqual(metrics["store.rtt_ms", "rank:1"], 8)   # no answer comes sooner
        self.assertAlmostEqual(2.5, metrics["compress.bytes_over_least", "rank:1"], delta=0.05)

    def test_no_long_way(self):
        _, found = self.found(0)
        self.assertEqual({(rule, "all"): "clean" for rule in RULES}, found)


if __name__ == "__main__":
    unittest.main()
