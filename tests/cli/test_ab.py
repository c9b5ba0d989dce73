#!/usr/bin/env python3
"""The options of run --ab, and what it says of jobs that it cannot judge."""
import os
import subprocess
import unittest

import doctor

PYTHON = os.environ.get("GSD_TORCH_PYTHON") or "/usr/bin/python3"


def has_torch():
    return subprocess.run([PYTHON, "-c", "import torch.distributed as d; assert d.is_gloo_available()"],
                          stderr=subprocess.DEVNULL).returncode == 0


class Ab(doctor.TestCase):
    def test_options_belong_to_it(self):
        for options in (("--yes",), ("--ab-with", "fp16")):
            with self.subTest(options):
                self.assertSays(self.doctor("run", *options, "--", "true"), 2, "--ab")
        self.assertSays(self.doctor("run", "--ab", "--ab-with", "nothing", "--", "true"), 2, "--ab-with")

    def test_not_together_with_quality(self):
        self.assertSays(self.doctor("run", "--ab", "--quality", "--", "true"), 2, "--quality")

    def test_quality_without_a_hook(self):
        report, done = self.run_job("true", options=("--quality",))
        self.assertEqual(0, done.returncode, done.stderr)
        entry = self.coverage(report, "gradient quality")[0]
        self.assertEqual(("unavailable", "no rank with a communication hook was observed"), (entry["state"], entry["reason"]))

    def test_a_job_that_writes_checkpoints(self):
        script = self.folder / "train.py"
        script.write_text("import sys\n# torch.save( in a comment is none\nif len(sys.argv) > 5:\n    torch.save(1, 'x')\n"
                          "print('trained')\n")
        refused = self.doctor("run", "--ab", "--", PYTHON, script)
        self.assertSays(refused, 2, "it writes checkpoints: torch.save in line 4", "--yes")
        self.assertNotIn("trained", refused.stdout)
        self.assertIn("trained", self.doctor("run", "--ab", "--yes", "--", PYTHON, script).stdout)
        self.assertIn("trained", self.doctor("run", "--", PYTHON, script).stdout)
        script.write_text("print('trained')  # torch.save(\n")
        self.assertIn("trained", self.doctor("run", "--ab", "--", PYTHON, script).stdout)

    def test_a_job_without_a_hook(self):
        report, done = self.run_job("true", options=("--ab",))
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertEqual("could not judge", report["facts"]["ab.answer"])
        self.assertEqual("no rank with a communication hook was observed", report["facts"]["ab.reason"])
        self.assertIn("could not judge: no rank with a communication hook", done.stdout)
        self.assertEqual("unavailable", self.coverage(report, "run --ab")[0]["state"])

    def test_a_stray_variable_is_no_request(self):
        report, done = self.run_job(PYTHON, "-c", "import os; assert 'GSD_AB' not in os.environ", GSD_AB="with=dense")
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertNotIn("ab.answer", report["facts"])

    @unittest.skipUnless(has_torch(), "needs PyTorch with gloo")
    def test_compression_outside_of_hooks(self):
        report, done = self.run_job(PYTHON, doctor.ROOT / "samples/ddp_topk.py", "--steps", "30", options=("--ab",))
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertEqual("no communication hook is registered: the job compresses in its own code, which cannot be left out",
                         report["facts"]["ab.reason"])
        self.assertNotIn("measured.ab_difference_ms", {metric["name"] for metric in report["metrics"]})


if __name__ == "__main__":
    unittest.main()
