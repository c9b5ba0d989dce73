#!/usr/bin/env python3
"""compare: stored recordings and reports of them against each other, sets of runs, the gate, and wrong calls."""
import copy
import json
import tarfile
import unittest

import doctor

RECORDINGS = doctor.ROOT / "tests/samples/recordings"


def rows_of(report, name):
    """The rows of a series, each as a dict of its columns."""
    series = next((one for one in report["series"] if one["name"] == name), None)
    return [dict(zip(series["columns"], row)) for row in series["rows"]] if series else []


def slowed(report, percent):
    """The report of a job whose steps all take that much longer."""
    slower = copy.deepcopy(report)
    for series in slower["series"]:
        if series["name"] == "steps":
            column = series["columns"].index("time_ms")
            for row in series["rows"]:
                row[column] *= 1 + percent / 100
    for metric in slower["metrics"]:
        if metric["name"] == "step.time_ms":
            metric["value"] *= 1 + percent / 100
    return slower


class TestCase(doctor.TestCase):
    def recording(self, sample):
        with tarfile.open(RECORDINGS / f"{sample}.tar.xz") as archive:
            archive.extractall(self.folder / sample)
        return next(path.parent for path in (self.folder / sample).rglob("recording.json"))

    def report(self, sample):
        path = self.folder / f"{sample}.json"
        if not path.exists():
            self.assertSays(self.doctor("show", self.recording(sample), "--json", path, "-q"), 0)
        return json.loads(path.read_text())

    def write(self, name, report):
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(report))
        return path

    def compared(self, *arguments, status=0):
        path = self.folder / "compared.json"
        done = self.doctor("compare", *arguments, "--json", path)
        self.assertSays(done, status)
        return json.loads(path.read_text()), " ".join(done.stdout.split())


class WrongCalls(TestCase):
    def test_each_says_what_is_wrong(self):
        good = self.write("good.json", self.report("ddp_healthy"))
        empty, none = self.folder / "empty", self.folder / "none"
        empty.mkdir()
        none.mkdir()
        (none / "a.json").write_text("{}")
        sweep = self.report("ddp_healthy")
        sweep["metrics"] = [metric for metric in sweep["metrics"] if metric["name"] != "step.time_ms"]
        without = self.write("without.json", sweep)
        unknown = self.report("ddp_healthy")
        for metric in unknown["metrics"]:
            if metric["name"] == "step.time_ms":
                metric["value"] = None
        self.write("unknown.json", unknown)
        for arguments, status, words in [
                ([good], 2, ["B is required"]),
                (["/nonexistent", good], 3, ["/nonexistent", "No such file"]),
                ([good, "/dev/null"], 3, ["/dev/null", "empty"]),
                ([self.folder / "unknown.json", good], 3, ["unknown.json", "no step time"]),
                ([good, without], 3, ["cannot compare", "without.json", "no step time", "gradsync-doctor run"]),
                ([empty, good], 3, ["neither reports", "gradsync-doctor run --json"]),
                ([none, good], 3, ["a.json"]),
                ([good, good, "more"], 2, ["one argument too many: more"]),
                (["--gate=x", good, good], 2, ["--gate", "x", "--gate=5"]),
                (["--fail-on", "x", good, good], 2, ["--fail-on"])]:
            with self.subTest(arguments):
                self.assertSays(self.doctor("compare", *arguments), status, *words)


class Comparisons(TestCase):
    def test_another_job_is_said_first(self):
        report, text = self.compared(self.recording("ddp_topk"), self.recording("ddp_healthy"))
        self.assertIn("VERDICT Not the same job: bytes of gradients 6305796 in A, 890116 in B", text)
        self.assertIn("compress-not-overlapped", text)
        step = rows_of(report, "compare")[0]
        self.assertEqual("step.time_ms", step["measure"])
        self.assertEqual("fell", step["verdict"])
        self.assertLess(step["low"], step["high"])
        self.assertIn("other_job", " ".join(report["facts"]))
        self.assertIn("gone", text)
        shown = self.doctor("show", self.folder / "compared.json").stdout
        self.assertIn("Not the same job", shown)

    def test_the_report_fits_the_schema(self):
        report, _ = self.compared("--gate=5", self.recording("ddp_topk"), self.recording("ddp_healthy"), status=11)
        self.assertFitsSchema(report)

    def test_a_report_says_the_same_as_its_recording(self):
        before, after = self.recording("ddp_topk"), self.recording("ddp_healthy")
        self.report("ddp_topk")
        of_recordings, _ = self.compared(before, after)
        of_reports, _ = self.compared(self.folder / "ddp_topk.json", after)
        self.assertEqual(rows_of(of_recordings, "compare"), rows_of(of_reports, "compare"))

    def test_without_a_change_none_is_shown(self):
        self.report("ddp_healthy")
        path = self.folder / "ddp_healthy.json"
        report, text = self.compared(path, path, "--gate")
        self.assertIn("No difference of the step shown", text)
        self.assertIn("one run each side", text)
        self.assertEqual("passed", report["facts"]["compare.gate"])
        self.assertEqual([], rows_of(report, "compare_facts"))

    def test_sets_of_runs(self):
        base = self.report("ddp_healthy")
        for number in range(4):
            self.write(f"a/{number}.json", slowed(base, number))
            self.write(f"b/{number}.json", slowed(base, 20 + number))
        self.write("a/notes.json", {"no": "report"})
        report, text = self.compared("--gate", self.folder / "a", self.folder / "b", status=10)
        self.assertEqual("runs", report["facts"]["compare.unit"])
        step = rows_of(report, "compare")[0]
        self.assertEqual((4, 4), (step["before_n"], step["after_n"]))
        self.assertEqual("rose", step["verdict"])
        self.assertIn("1 of them could not be used", text)

    def test_few_runs_decide_nothing(self):
        base = self.report("ddp_healthy")
        for number in range(3):
            self.write(f"a/{number}.json", slowed(base, number))
            self.write(f"b/{number}.json", slowed(base, 50 + number))
        report, text = self.compared("--gate", self.folder / "a", self.folder / "b", status=11)
        self.assertEqual("too few", rows_of(report, "compare")[0]["verdict"])
        self.assertIn("fewer than 4 a side", text)


class Gate(TestCase):
    def test_statuses(self):
        base = self.report("ddp_healthy")
        path = self.write("base.json", base)
        few = copy.deepcopy(slowed(base, 30))
        for series in few["series"]:
            if series["name"] == "steps":
                del series["rows"][8:]
        other = slowed(base, 30)
        other["run"]["ranks"] = 4
        for name, report, options, status in [("same", base, ["--gate"], 0),
                                              ("slower", slowed(base, 30), ["--gate"], 10),
                                              ("slower, no gate", slowed(base, 30), [], 0),
                                              ("slower, and allowed", slowed(base, 30), ["--gate=50"], 0),
                                              ("about the limit", slowed(base, 5), ["--gate=5%"], 11),
                                              ("faster", slowed(base, -30), ["--gate"], 0),
                                              ("too few steps", few, ["--gate"], 11),
                                              ("other ranks", other, ["--gate"], 11)]:
            with self.subTest(name):
                self.compared(*options, path, self.write("after.json", report), status=status)

    def test_a_new_finding_fails(self):
        base = self.report("ddp_healthy")
        worse = copy.deepcopy(base)
        finding = next(one for one in worse["findings"] if one["state"] == "clean" and one["severity"] == "warning")
        finding["state"] = "fired"
        before, after = self.write("base.json", base), self.write("worse.json", worse)
        report, text = self.compared("--gate", "--fail-on", "warning", before, after, status=10)
        self.assertIn("New findings: " + finding["rule"], text)
        self.compared("--gate", "--fail-on", "error", before, after)
        self.compared("--gate", "--fail-on", "warning", after, after)  # it was there before


if __name__ == "__main__":
    unittest.main()
