#!/usr/bin/env python3
"""The options of run --ab, and what it says of jobs that it cannot judge."""
import json
import os
import subprocess
import unittest

import doctor
from test_whatif import TestCase as Profiles, rows_of

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


@unittest.skipUnless(has_torch(), "needs PyTorch with gloo")
class ToTheEnd(Profiles):
    """A short job from its first step to the answer, whatever that is on this machine; what was predicted is kept."""

    def judged(self, *options):
        return self.run_job(PYTHON, doctor.ROOT / "samples/ddp_topk_hook.py", "--steps", "280", "--width", "64",
                            options=("--ab", "--deep", "off", *options))

    def values(self, report):
        return {metric["name"]: metric["value"] for metric in report["metrics"] if metric["scope"] == "all"}

    def test_with_half_precision_in_its_place(self):
        report, done = self.judged("--ab-with", "fp16", "--fabric", self.fabric(1.5, half_gbytes_per_s=0.18), "--loads",
                                   self.loads())
        self.assertEqual(0, done.returncode, done.stderr)
        facts, values, text = report["facts"], self.values(report), " ".join(done.stdout.split())
        self.assertEqual("fp16", facts["ab.with"])
        self.assertIn(facts["ab.answer"], ("costs", "saves", "no difference shown"), facts.get("ab.reason"))
        self.assertGreaterEqual(values["ab.quadruples"], 10)
        self.assertIn("with fp16 instead", text)
        parameters = 6 * (64 * 64 + 64) + 65
        self.assertEqual(2 * parameters, values["ab.without_bytes"])
        self.assertEqual("measured.fp16_hook.saved_ms" in values, facts["ab.answer"] != "no difference shown")
        self.assertNotIn("measured.no_compression.saved_ms", values)
        self.assertKept("fp16_hook", report, done)

    def test_predicted_and_measured_are_kept(self):
        report, done = self.judged("--fabric", self.fabric(1.5))
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertKept("no_compression", report, done)

    def assertKept(self, change, report, done):
        """One line of the record; where nothing was predicted the reason, and none."""
        record = self.folder / "state/gradsync-doctor/calibration.jsonl"
        text = " ".join(done.stdout.split())
        values = self.values(report)
        if f"predict.{change}.saved_ms" not in values:
            why = report["facts"]["ab.not_predicted"]
            self.assertIn("was not predicted: " + why, text)
            if report["facts"]["whatif"] == "disabled":   # the steps were too restless
                self.assertEqual(report["facts"]["whatif.why"], why)
            else:
                row = next(row for row in rows_of(report, "whatif") if row["remedy"] == change)
                self.assertNotEqual("predicted", row["kind"])
                self.assertEqual(f"{row['needs']} ({row['hint']})", why)
            self.assertFalse(record.exists())
            return
        self.assertIn("of the longer step", text)
        self.assertIn("calibration.jsonl", done.stderr)
        kept = [json.loads(line) for line in record.read_text().splitlines()]
        self.assertEqual([change], [line["change"] for line in kept])
        self.assertAlmostEqual(values["measured.ab_difference_ms"], kept[0]["measured_ms"][1], places=6)
        self.assertAlmostEqual(values[f"predict.{change}.saved_ms"], kept[0]["predicted_ms"][1], places=6)
        self.assertAlmostEqual(max(values["ab.with_ms"], values["ab.without_ms"]), kept[0]["step_ms"], places=6)
        error = 100 * (kept[0]["predicted_ms"][1] - kept[0]["measured_ms"][1]) / kept[0]["step_ms"]
        self.assertAlmostEqual(error, values["ab.prediction_error_percent"], places=6)
        self.assertEqual("none, one host", kept[0]["network"])

    def test_a_record_that_cannot_be_written_is_named(self):
        (self.folder / "state/gradsync-doctor/calibration.jsonl").mkdir(parents=True)
        report, done = self.judged("--fabric", self.fabric(1.5))
        self.assertEqual(0, done.returncode, done.stderr)
        if report["facts"]["whatif"] != "disabled":
            self.assertIn("calibration.jsonl", done.stderr)


if __name__ == "__main__":
    unittest.main()
