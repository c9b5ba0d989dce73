#!/usr/bin/env python3
"""Files that show writes besides its report, read again by whoever they are for; and what it says where it cannot."""
import gzip
import json
import shutil
import tarfile
import unittest

import doctor


class ShowFiles(doctor.TestCase):
    def recording(self, name="ddp_topk"):
        with tarfile.open(doctor.ROOT / "tests/samples/recordings" / (name + ".tar.xz")) as archive:
            archive.extractall(self.folder)
        return self.folder / "recording"

    def report_of(self, *arguments):
        done = self.doctor(*arguments, "--json", "-")
        self.assertEqual(0, done.returncode, done.stderr)
        return json.loads(done.stdout)

    def lonely_report(self):
        """A report whose recording is gone."""
        path = self.folder / "report.json"
        self.assertSays(self.doctor("show", "--json", path, self.recording()), 0)
        report = json.loads(path.read_text())
        report["run"]["recording"] = "nowhere/recording"
        path.write_text(json.dumps(report))
        return path


class Perfetto(ShowFiles):
    def values(self, report, *names):
        return {(m["name"], m["scope"]): m["value"] for m in report["metrics"] if m["name"].startswith(names)}

    def test_our_own_trace_tells_the_same_job(self):
        for name in ("ddp_topk", "ddp_straggler", "native_topk"):
            with self.subTest(name):
                recording, trace = self.recording(name), self.folder / "job.json.gz"
                done = self.doctor("show", "--perfetto", trace, recording)
                self.assertSays(done, 0, "trace of 2 ranks", "joined by arrows")
                self.assertIn("VERDICT", done.stdout)
                told, again = self.report_of("show", recording), self.report_of("analyze", trace)
                self.assertEqual(told["run"]["ranks"], again["run"]["ranks"])
                self.assertEqual(told["run"]["steps"], again["run"]["steps"])
                self.assertEqual(doctor.fired(told), doctor.fired(again))
                names = ("step.", "comm.", "attribution.", "sync.", "straggler.late_ms")
                self.assertEqual(self.values(told, *names), self.values(again, *names))
                self.assertEqual(told["verdict"], again["verdict"])
                shutil.rmtree(recording)

    def test_a_trace_is_json_whose_arrows_meet(self):
        trace = self.folder / "job.json"
        self.assertSays(self.doctor("show", "--perfetto", trace, self.recording()), 0)
        events = json.loads(trace.read_text())["traceEvents"]
        starts = {event["id"] for event in events if event["ph"] == "s"}
        ends = {event["id"] for event in events if event["ph"] == "f"}
        self.assertGreater(len(starts), 50)
        self.assertEqual(starts, ends)

    def test_on_standard_output_it_stands_alone(self):
        done = self.doctor("show", "--perfetto", "-", self.recording())
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertIn("traceEvents", json.loads(done.stdout))

    def test_a_report_of_a_recording_that_is_there(self):
        recording, report = self.recording(), self.folder / "r.json"
        self.doctor("show", "--json", report, recording)
        document = json.loads(report.read_text())
        document["run"]["recording"] = "recording"  # beside the report
        report.write_text(json.dumps(document))
        self.assertSays(self.doctor("show", "--perfetto", self.folder / "t.json", report), 0, "trace of 2 ranks")

    def test_a_report_whose_recording_is_gone(self):
        trace = self.folder / "t.json"
        done = self.doctor("show", "--perfetto", trace, self.lonely_report())
        self.assertSays(done, 3, "its recording nowhere/recording is gone", "show RECORDING --perfetto FILE")
        self.assertIn("VERDICT", done.stdout)
        self.assertFalse(trace.exists())

    def test_places_that_cannot_be_written(self):
        recording = self.recording()
        done = self.doctor("show", "--perfetto", "/nonexistent/t.json", recording)
        self.assertSays(done, 125, "cannot write /nonexistent/t.json", "No such file")
        self.assertEqual("", done.stdout)  # said before the recording is read
        self.assertSays(self.doctor("show", "--perfetto", "/dev/full", recording), 125, "cannot write /dev/full")
        self.assertSays(self.doctor("show", "--perfetto", "-", "--json", "-", recording), 2,
                        "only one output can be standard output")


if __name__ == "__main__":
    unittest.main()
