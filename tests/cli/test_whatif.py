#!/usr/bin/env python3
"""whatif: remedies of stored recordings on fabrics that are given, plans as a hook, and wrong calls."""
import ast
import json
import shutil
import tarfile
import unittest

import doctor

RECORDINGS = doctor.ROOT / "tests/samples/recordings"


def rows_of(report, name):
    """The rows of a series, each as a dict of its columns."""
    series = next((one for one in report["series"] if one["name"] == name), None)
    return [dict(zip(series["columns"], row)) for row in series["rows"]] if series else []


class TestCase(doctor.TestCase):
    def recording(self, sample):
        """Unpacks the stored recording of a sample."""
        with tarfile.open(RECORDINGS / f"{sample}.tar.xz") as archive:
            archive.extractall(self.folder)
        return next(path.parent for path in self.folder.rglob("recording.json"))

    def fabric(self, gbytes_per_s, start_us=150.0, half_gbytes_per_s=None):
        """A profile of two Gloo ranks whose collectives cost start_us and their bytes; of halves, where it has them, too."""
        curves = [("all_reduce", "float", gbytes_per_s), ("all_gather", "float", gbytes_per_s)]
        if half_gbytes_per_s is not None:
            curves.append(("all_reduce", "half", half_gbytes_per_s))
        rows = [[operation, kind, "", 1024, 1 << 28, start_us, (1 << 20) / (speed * 1e3)] for operation, kind, speed in curves]
        columns = ["operation", "type", "load", "from_bytes", "to_bytes", "alpha_us", "us_per_mib"]
        return self.profile(f"fabric-{gbytes_per_s}.json", "fabric_fit", columns, rows)

    def loads(self):
        columns = ["algorithm", "device", "elements", "ms_p10", "ms_p50", "ms_p90", "ranks", "decompress_ms", "wire_bytes"]
        rows = [["cast16", "cpu", 1000000, 0.1, 0.2, 0.3, 2, 0.2, 2000000],
                ["topk_histogram", "cpu", 1000000, 0.5, 0.6, 0.8, 2, 0.1, 80000]]
        return self.profile("loads.json", "load_profiles", columns, rows)

    def profile(self, name, series, columns, rows):
        document = {"schema_version": 1, "tool": {"name": "gradsync-doctor", "version": "0", "parts": {}},
                    "command": "profile", "facts": {}, "coverage": [], "metrics": [], "attribution": [], "findings": [],
                    "run": {"command_line": [], "hosts": ["h"], "ranks": 2, "steps": 0, "seconds": 0, "backend": "gloo",
                            "versions": {}, "cpus": 0, "clocks": "", "recording": "", "recording_id": ""},
                    "series": [{"name": series, "columns": columns, "rows": rows}],
                    "verdict": {"text": "", "sign": "unknown", "ms": 0, "p05": 0, "p95": 0, "measured": False}}
        path = self.folder / name
        path.write_text(json.dumps(document))
        return path

    def whatif(self, *arguments):
        path = self.folder / "whatif.json"
        done = self.doctor("whatif", *arguments, "--json", path)
        self.assertSays(done, 0)
        return json.loads(path.read_text()), done.stdout

    def saved(self, report, remedy):
        return next(row["p50"] for row in rows_of(report, "whatif") if row["remedy"] == remedy)


class WrongCalls(TestCase):
    def test_each_says_what_is_wrong(self):
        empty = self.folder / "empty.json"
        empty.write_text("{}")
        for arguments, status, words in [
                ([], 2, ["REPORT"]),
                (["/nonexistent"], 3, ["/nonexistent", "No such file"]),
                (["/dev/null"], 3, ["/dev/null", "empty"]),
                ([empty], 3, ["empty.json"]),
                (["a", "b"], 2, ["b"]),
                (["a", "--emit-hook"], 2, ["--emit-hook"]),
                ([self.fabric(1)], 3, ["no steps of a job", "gradsync-doctor run"])]:
            with self.subTest(arguments):
                self.assertSays(self.doctor("whatif", *arguments), status, *words)


class Predictions(TestCase):
    def test_the_sign_depends_on_the_fabric(self):
        recording = self.recording("ddp_topk")
        fast, text = self.whatif(recording, "--fabric", self.fabric(1.5))
        slow, _ = self.whatif(recording, "--fabric", self.fabric(0.12))
        self.assertGreater(self.saved(fast, "no_compression"), 0)
        self.assertLess(self.saved(slow, "no_compression"), 0)
        self.assertIn("no_compression would save", text)
        self.assertIn("worth trying", text)

    def test_sorted_by_what_is_saved_and_never_beyond_the_step(self):
        report, _ = self.whatif(self.recording("ddp_topk"), "--fabric", self.fabric(1.5), "--loads", self.loads())
        step = next(m["value"] for m in report["metrics"] if m["name"] == "step.time_ms" and m["scope"] == "all")
        predicted = [row for row in rows_of(report, "whatif") if row["kind"] == "predicted"]
        self.assertGreaterEqual(len(predicted), 4)
        self.assertEqual(sorted((row["p50"] for row in predicted), reverse=True), [row["p50"] for row in predicted])
        for row in predicted:
            self.assertLessEqual(row["p05"], row["p50"])
            self.assertLessEqual(row["p50"], row["p95"])
            self.assertLess(row["p95"], step)

    def test_half_precision_by_the_curve_of_halves(self):
        """A CPU adds halves slower than loopback sends them: floats do not tell the price."""
        recording = self.recording("ddp_topk")
        row_of = lambda report: next(row for row in rows_of(report, "whatif") if row["remedy"] == "fp16_hook")
        unknown, text = self.whatif(recording, "--fabric", self.fabric(1.5), "--loads", self.loads())
        self.assertEqual("could not judge", row_of(unknown)["kind"])
        self.assertIn("gradsync-doctor sweep --ranks 2 --op all_reduce --type half", " ".join(text.split()))
        saved = []
        for speed in (0.18, 1.5):
            report, _ = self.whatif(recording, "--fabric", self.fabric(1.5, half_gbytes_per_s=speed), "--loads", self.loads())
            self.assertEqual("predicted", row_of(report)["kind"])
            saved.append(self.saved(report, "fp16_hook"))
        self.assertLess(saved[0], saved[1])

    def test_without_a_fabric_there_are_bounds_and_hints(self):
        report, text = self.whatif(self.recording("ddp_topk"))
        row = next(row for row in rows_of(report, "whatif") if row["remedy"] == "no_compression")
        self.assertEqual("bound", row["kind"])
        self.assertIsNone(row["probability"])
        self.assertIn("at most", text)
        self.assertIn("gradsync-doctor sweep", text)

    def test_a_report_whose_recording_is_gone(self):
        recording = self.recording("ddp_topk")
        report = self.folder / "report.json"
        self.assertSays(self.doctor("show", recording, "--json", report, "-q"), 0)
        shutil.rmtree(recording)
        _, text = self.whatif(report)
        self.assertIn("is gone", text)
        self.assertIn("no_compression", text)
        self.assertSays(self.doctor("whatif", report, "--fabric", self.fabric(1)), 3, "is gone")

    def test_json_on_standard_output_and_quiet(self):
        recording = self.recording("ddp_topk")
        done = self.doctor("whatif", recording, "--json", "-")
        self.assertEqual("whatif", json.loads(done.stdout)["command"])
        quiet = self.doctor("whatif", recording, "-q").stdout
        self.assertIn("no_compression", quiet)
        self.assertNotIn("COVERAGE", quiet)


class Record(TestCase):
    """What run --ab left behind widens the intervals."""

    def keep(self, errors, *, change="no_compression"):
        folder = self.folder / "state/gradsync-doctor"
        folder.mkdir(parents=True, exist_ok=True)
        with open(folder / "calibration.jsonl", "a") as file:
            for error in errors:
                file.write(json.dumps({"at": "2026-01-01T00:00:00Z", "tool": "0", "change": change, "step_ms": 100,
                                       "predicted_ms": [0, 100 * error, 200], "measured_ms": [-1, 0, 1]}) + "\n")

    def interval(self, recording):
        report, text = self.whatif(recording, "--fabric", self.fabric(1.5))
        row = next(row for row in rows_of(report, "whatif") if row["remedy"] == "no_compression")
        step = next(m["value"] for m in report["metrics"] if m["name"] == "step.time_ms" and m["scope"] == "all")
        return row, step, " ".join(text.split()), report

    def test_errors_on_record_widen(self):
        recording = self.recording("ddp_topk")
        before, step, text, _ = self.interval(recording)
        self.assertIn("at least 5 % of the step to both sides: fewer than 5 measured changes are kept here (none)", text)
        self.assertLessEqual(before["p05"], before["p50"] - 0.05 * step + 1e-6)
        self.keep([0.3] * 6)
        after, step, text, report = self.interval(recording)
        self.assertAlmostEqual(after["p50"] - 0.3 * step, after["p05"], delta=1e-3)
        self.assertEqual(before["p50"], after["p50"])
        self.assertIn("no_compression: at least 30.0 % of the step to both sides, by 6 measured changes kept here", text)
        self.assertLessEqual(after["probability"], before["probability"])
        self.assertIn("whatif.record", report["facts"])

    def test_a_file_that_cannot_be_read_is_named(self):
        (self.folder / "state/gradsync-doctor/calibration.jsonl").mkdir(parents=True)
        report, text = self.whatif(self.recording("ddp_topk"), "--fabric", self.fabric(1.5))
        self.assertIn("calibration.jsonl", self.coverage(report, "track record")[0]["reason"])

    def test_lines_of_another_version_are_counted(self):
        self.keep([0.01] * 5)
        with open(self.folder / "state/gradsync-doctor/calibration.jsonl", "a") as file:
            file.write("{}\nnot JSON\n")
        report, _ = self.whatif(self.recording("ddp_topk"), "--fabric", self.fabric(1.5))
        self.assertIn("2 lines", self.coverage(report, "track record")[0]["reason"])
        self.assertIn("by 5 measured changes", report["facts"]["whatif.record"])


class Hooks(TestCase):
    def test_a_plan_is_a_module_that_parses(self):
        plan = self.folder / "plan.py"
        self.whatif(self.recording("ddp_healthy"), "--fabric", self.fabric(0.12), "--loads", self.loads(),
                    "--emit-hook", plan)
        tree = ast.parse(plan.read_text())
        rows = next(ast.literal_eval(node.value) for node in tree.body
                    if isinstance(node, ast.Assign) and node.targets[0].id == "PLAN")
        self.assertTrue(rows)
        self.assertTrue(all(method in ("dense", "fp16", "topk") for _, method, _ in rows))

    def test_no_plan_without_a_fabric(self):
        plan = self.folder / "plan.py"
        done = self.doctor("whatif", self.recording("ddp_healthy"), "--emit-hook", plan)
        self.assertSays(done, 3, "no plan", "sweep")
        self.assertFalse(plan.exists())


if __name__ == "__main__":
    unittest.main()
