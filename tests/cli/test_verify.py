#!/usr/bin/env python3
"""verify: predicted against measured, of a job that writes its own steps; what is refused before CMD runs."""
import copy
import json
import os
import unittest

import doctor
from test_compare import TestCase as Recordings, rows_of

PYTHON = os.environ.get("GSD_TORCH_PYTHON")

# job.py STEP_MS COMPRESS_MS [EXIT_STATUS]: 120 steps of one rank, with stamps of its own: no time passes.
JOB = """
import ctypes, os, random, sys
library = ctypes.CDLL(os.environ["GSD_LIBRARY"])
U64, I64 = ctypes.c_uint64, ctypes.c_int64
library.gsd_now.restype = I64
library.gsd_event.argtypes = [U64, U64, U64, I64, I64]
library.gsd_step.argtypes = [I64, ctypes.c_uint32, ctypes.c_uint32]
library.gsd_string.argtypes = [ctypes.c_char_p, I64]
for key, value in ((b"rank", b"0"), (b"world_size", b"1"), (b"backend", b"gloo")):
    library.gsd_fact(key, value)
step_ms, compress_ms = float(sys.argv[1]), float(sys.argv[2])
random.seed(1)
now = library.gsd_now() - int(200 * step_ms * 1e6)
RANGE, COLLECTIVE = 5, 6
FORWARD, BACKWARD, COMPRESS = 1, 2, 5

def event(kind, phase, ms, name, bytes=0):
    global now
    end = now + int(ms * 1e6)
    where = library.gsd_string(b"world", -1) | step << 32
    library.gsd_event(kind | phase << 8 | 1 << 16 | library.gsd_string(name, -1) << 32, bytes, where, now, end)
    now = end

for step in range(120):
    library.gsd_step(now, 0, 0)
    event(RANGE, FORWARD, 0.3 * step_ms + random.random(), b"forward")
    event(RANGE, BACKWARD, 0.6 * step_ms + random.random(), b"backward")
    if compress_ms:
        event(RANGE, COMPRESS, compress_ms, b"compress")
    event(COLLECTIVE, 0, 0.1 * step_ms, b"all_reduce", 4000)
library.gsd_step(now, 0, 0)
library.gsd_goodbye()
print("trained")
sys.exit(int(sys.argv[3]) if len(sys.argv) > 3 else 0)
"""


class TestCase(doctor.TestCase):
    def setUp(self):
        super().setUp()
        self.job = self.folder / "job.py"
        self.job.write_text(JOB)
        self.before = self.folder / "before.json"
        self.record = self.folder / "state/gradsync-doctor/calibration.jsonl"

    def predicted(self, *savings):
        """The report of the job before, which compresses for 5 ms, with these savings predicted or bounded."""
        if not self.before.exists():
            done = self.doctor("run", "-q", "--json", self.before, "--", "/usr/bin/python3", self.job, "50", "5")
            self.assertSays(done, 0)
        report = json.loads(self.before.read_text())
        for kind, remedy, low, middle, high in savings:
            report["metrics"].append({"name": f"{kind}.{remedy}.saved_ms", "scope": "all", "value": middle, "unit": "ms",
                                      "n": 500, "p10": low, "p90": high, "source": "test"})
        path = self.folder / "predicted.json"
        path.write_text(json.dumps(report))
        return path

    def verified(self, before, *job, options=(), status=0):
        path = self.folder / "verified.json"
        done = self.doctor("verify", before, *options, "--json", path, "--", "/usr/bin/python3", self.job, *job)
        self.assertSays(done, status)
        self.assertIn("trained", done.stdout)
        return json.loads(path.read_text()), " ".join(done.stdout.split())


def metric(report, name):
    return next((one["value"] for one in report["metrics"] if one["name"] == name), None)


class WrongCalls(TestCase):
    def test_each_is_refused_before_the_job_runs(self):
        good = self.predicted(("predict", "no_compression", 4, 5, 6))
        report = json.loads(good.read_text())
        without = copy.deepcopy(report)
        without["series"] = [one for one in without["series"] if one["name"] != "steps"]
        (self.folder / "without.json").write_text(json.dumps(without))
        sweep = dict(without, command="sweep", metrics=[])
        (self.folder / "sweep.json").write_text(json.dumps(sweep))
        trained = self.folder / "trained"
        for arguments, status, words in [
                ([], 2, ["REPORT is required"]),
                ([good], 2, ["CMD is required"]),
                (["/nonexistent", "--", "touch", trained], 3, ["/nonexistent", "No such file"]),
                (["/dev/null", "--", "touch", trained], 3, ["/dev/null", "empty"]),
                ([self.folder / "without.json", "--", "touch", trained], 3, ["cannot verify against", "it holds no steps"]),
                ([self.folder / "sweep.json", "--", "touch", trained], 3, ["a report of sweep", "gradsync-doctor run"]),
                (["--remedy", "none", good, "--", "touch", trained], 2,
                 ["--remedy none", "does not speak of it", "no_compression"]),
                (["--steps", "x", good, "--", "touch", trained], 2, ["--steps"]),
                (["--ab", good, "--", "touch", trained], 2, ["there is no option --ab"])]:
            with self.subTest(arguments):
                self.assertSays(self.doctor("verify", *arguments), status, *words)
                self.assertFalse(trained.exists())

    def test_a_command_that_is_not_there(self):
        self.assertSays(self.doctor("verify", self.predicted(), "--", "/nonexistent/job"), 127, "cannot run")


class Verifications(TestCase):
    def test_predicted_and_measured(self):
        before = self.predicted(("predict", "no_compression", 4, 5, 6))
        report, text = self.verified(before, "50", "0", options=("--remedy", "no_compression"))
        self.assertEqual("as predicted", report["facts"]["verify.answer"])
        self.assertEqual("kept", report["facts"]["verify.record"])
        self.assertEqual(5, metric(report, "verify.predicted_ms"))
        self.assertAlmostEqual(5, metric(report, "verify.measured_ms"), delta=0.3)  # stamps of the job, no clock
        self.assertAlmostEqual(0, metric(report, "verify.prediction_error_percent"), delta=1)
        self.assertIn("no_compression (named with --remedy): predicted −5.0 ms (4.0 … 6.0), measured −", text)
        self.assertEqual("fell", rows_of(report, "compare")[0]["verdict"])
        line = json.loads(self.record.read_text())
        self.assertEqual(("no_compression", [4, 5, 6]), (line["change"], line["predicted_ms"]))
        self.assertIn("verify", self.doctor("show", self.folder / "verified.json").stdout)

    def test_the_report_fits_the_schema(self):
        before = self.predicted(("predict", "no_compression", 4, 5, 6))
        report, _ = self.verified(before, "50", "0", options=("--remedy", "no_compression"))
        self.assertFitsSchema(report)

    def test_steps_alone_can_be_compared(self):
        """A job that tells its steps and nothing else has no classes."""
        self.job.write_text("\n".join(line for line in JOB.splitlines() if not line.strip().startswith("event(")
                                      and "if compress_ms" not in line).replace("    library.gsd_step(now, 0, 0)\n",
                                      "    library.gsd_step(now, 0, 0)\n    now += int((step_ms + random.random()) * 1e6)\n"))
        before = self.predicted()
        report, text = self.verified(before, "60", "0")
        self.assertEqual("rose", rows_of(report, "compare")[0]["verdict"])
        self.assertIn("ms longer in B", text)

    def test_what_became_of_the_promise(self):
        for kind, saving, job, answer in [("predict", (8, 9, 10), ("50", "0"), "less than predicted"),
                                          ("predict", (1, 2, 3), ("50", "0"), "more than predicted"),
                                          ("predict", (4, 5, 6), ("50", "5"), "no difference shown"),
                                          ("predict", (4, 5, 6), ("60", "5"), "the step became longer"),
                                          ("bound", (9, 9, 9), ("50", "0"), "within the bound"),
                                          ("bound", (2, 2, 2), ("50", "0"), "more than the bound")]:
            with self.subTest(answer):
                before = self.predicted((kind, "no_compression", *saving))
                report, _ = self.verified(before, *job, options=("--remedy", "no_compression"))
                self.assertEqual(answer, report["facts"]["verify.answer"])
                self.assertEqual(kind == "predict", report["facts"]["verify.record"] == "kept")

    def test_an_unknown_remedy_shows_the_choices_and_the_change(self):
        before = self.predicted(("predict", "no_compression", 4, 5, 6), ("predict", "fp16_hook", 1, 2, 3))
        report, text = self.verified(before, "50", "0")
        self.assertNotIn("verify.remedy", report["facts"])
        self.assertEqual("no_compression, fp16_hook", report["facts"]["verify.choices"])
        self.assertIn("Name it with --remedy: no_compression, fp16_hook", text)
        self.assertIn("ms shorter in B", text)
        self.assertIn("is not known", report["facts"]["verify.record"])
        self.assertFalse(self.record.exists())

    def test_another_machine_is_not_kept(self):
        before = self.predicted(("predict", "no_compression", 4, 5, 6))
        changed = json.loads(before.read_text())
        changed["run"]["hosts"] = ["elsewhere"]
        before.write_text(json.dumps(changed))
        report, text = self.verified(before, "50", "0", options=("--remedy", "no_compression"))
        self.assertIn("other machines: hosts elsewhere in A", text)
        self.assertIn("not otherwise the same: hosts", report["facts"]["verify.record"])
        self.assertFalse(self.record.exists())

    def test_a_job_that_fails_is_reported_all_the_same(self):
        before = self.predicted(("predict", "no_compression", 4, 5, 6))
        report, _ = self.verified(before, "50", "0", "7", options=("--remedy", "no_compression"), status=7)
        self.assertEqual(7, report["run"]["exit_status"])
        self.assertEqual("as predicted", report["facts"]["verify.answer"])

    def test_a_run_without_steps(self):
        path = self.folder / "verified.json"
        self.assertSays(self.doctor("verify", self.predicted(), "--json", path, "--", "true"), 0)
        report = json.loads(path.read_text())
        self.assertEqual(("verify", "could not judge"), (report["command"], report["facts"]["verify.answer"]))
        self.assertIn("Could not verify: this run measured no steps", report["verdict"]["text"])

    def test_options_of_the_job_are_its_own(self):
        done = self.doctor("verify", self.predicted(), "-q", "--", "echo", "-n", "--json", "x", "--", "[a,b]", "-q")
        self.assertSays(done, 0)
        self.assertTrue(done.stdout.startswith("--json x -- [a,b] -q"), done.stdout)


@unittest.skipUnless(PYTHON, "no Python with torch was found (make test TORCH_PYTHON=/path/to/python)")
class RealJob(Recordings):
    def test_what_was_applied_is_told_by_what_changed(self):
        """The stored recording of a Top-K hook, and the same job without it."""
        path = self.folder / "verified.json"
        done = self.doctor("verify", self.recording("ddp_topk_hook"), "--json", path, "--", PYTHON,
                           doctor.ROOT / "samples/ddp_topk_hook.py", "--remedy", "dense", "--steps", "30")
        self.assertSays(done, 0)
        report = json.loads(path.read_text())
        self.assertEqual("no_compression", report["facts"]["verify.remedy"])
        self.assertIn("compression topk → none", report["facts"]["verify.remedy.how"])
        self.assertIn("expensive-compress is gone", report["facts"]["verify.findings"])
        self.assertNotIn("compare.other_job", report["facts"])
        self.assertFitsSchema(report)


if __name__ == "__main__":
    unittest.main()
