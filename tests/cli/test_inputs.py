#!/usr/bin/env python3
"""Wrong calls and wrong files: what is wrong, on what, why, and what helps; the status is the contract's."""
import json
import struct
import tarfile
import unittest

import doctor

RECORDING = doctor.ROOT / "tests/samples/recordings/native_topk.tar.xz"


class WrongCalls(doctor.TestCase):
    CASES = [
        # arguments, status, words of standard error
        ([], 2, ["--help"]),
        (["no-such-command"], 2, ["no-such-command", "gradsync-doctor --help"]),
        (["run"], 2, ["CMD", "gradsync-doctor run --help"]),
        (["run", "--bogus", "--", "true"], 2, ["--bogus"]),
        (["run", "--steps", "9:3", "--", "true"], 2, ["--steps", "9:3", "10:60"]),
        (["run", "--steps", "some", "--", "true"], 2, ["--steps"]),
        (["run", "--linger", "5", "--", "true"], 2, ["--linger"]),
        (["run", "--deep", "deeper", "--", "true"], 2, ["--deep"]),
        (["run", "--budget", "-1", "--", "true"], 2, ["--budget"]),
        (["run", "--color", "pink", "--", "true"], 2, ["--color"]),
        (["run", "--fail-on", "nothing", "--", "true"], 2, ["--fail-on"]),
        (["run", "-q", "-v", "--", "true"], 2, ["--quiet", "--verbose"]),
        (["run", "--set", "nonsense", "--", "true"], 2, ["nonsense"]),
        (["run", "--set", "straggler-rank.no.such_metric=1", "--", "true"], 2, ["straggler-rank"]),
        (["run", "--rules", "/nonexistent", "--", "true"], 2, ["/nonexistent"]),
        (["analyze"], 2, ["PATH"]),
        (["analyze", "/nonexistent"], 3, ["/nonexistent", "No such file"]),
        (["analyze", "/usr"], 3, ["/usr"]),
        (["show", "/nonexistent"], 3, ["/nonexistent", "No such file"]),
        (["explain", "no-such-rule"], 2, ["no-such-rule", "gradsync-doctor rules"]),
        (["rules", "--check", "--settable"], 2, ["--settable"]),
    ]

    def test_each_says_what_is_wrong(self):
        for arguments, status, words in self.CASES:
            with self.subTest(arguments):
                done = self.doctor(*arguments)
                self.assertSays(done, status, *words)
                self.assertEqual("", done.stdout)


class WrongFiles(doctor.TestCase):
    def file(self, name, content):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def recording(self):
        with tarfile.open(RECORDING) as archive:
            archive.extractall(self.folder)
        return self.folder / "recording"

    def test_files_that_are_no_report(self):
        for content, words in [("", ["empty"]), ("hello", ["JSON"]), ('{"a": 1}', []), ("[1, 2", ["JSON"])]:
            with self.subTest(content):
                self.assertSays(self.doctor("show", self.file("x.json", content)), 3, "x.json", *words)

    def test_a_report_of_a_later_version(self):
        path = self.folder / "new.json"
        self.doctor("check", "--json", path)
        report = json.loads(path.read_text())
        report["schema_version"] = 99
        path.write_text(json.dumps(report))
        self.assertSays(self.doctor("show", path), 3, "new.json", "99")

    def test_a_report_given_to_analyze(self):
        path = self.folder / "report.json"
        self.doctor("check", "--json", path)
        self.assertSays(self.doctor("analyze", path), 3, "show")

    def test_a_trace_that_is_cut_is_read_up_to_there(self):
        events = [{"ph": "X", "name": "step", "pid": 1, "tid": 1, "ts": 1000 * i, "dur": 900} for i in range(30)]
        done = self.doctor("analyze", "--json", "-", self.file("cut.json", json.dumps({"traceEvents": events})[:-40]))
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertEqual("partial", self.coverage(json.loads(done.stdout), "trace cut.json")[0]["state"])

    def test_a_recording_is_not_joined_with_other_files(self):
        self.assertSays(self.doctor("analyze", self.recording(), self.recording()), 2, "analyze it alone")

    def test_spools_that_cannot_be_read_are_coverage(self):
        for offset, patch, word in [(0, b"NOTSPOOL", "GSDSPOOL"), (8, struct.pack(">I", 0x01020304), "byte order"),
                                    (12, struct.pack("<I", 9), "newer")]:
            with self.subTest(word):
                recording = self.recording()
                spool = sorted((recording / "events").iterdir())[0]
                content = bytearray(spool.read_bytes())
                content[offset:offset + len(patch)] = patch
                spool.chmod(0o600)
                spool.write_bytes(content)
                done = self.doctor("show", "--json", "-", recording)
                self.assertEqual(0, done.returncode, done.stderr)
                entry = self.coverage(json.loads(done.stdout), "spool")[0]
                self.assertEqual("unavailable", entry["state"])
                self.assertIn(word, entry["reason"])

    def test_a_cut_spool_gives_what_was_whole(self):
        recording = self.recording()
        for spool in (recording / "events").iterdir():
            spool.chmod(0o600)
            with spool.open("r+b") as file:
                file.truncate(40000)
        done = self.doctor("show", "--json", "-", recording)
        self.assertEqual(0, done.returncode, done.stderr)
        report = json.loads(done.stdout)
        self.assertGreater(report["run"]["steps"], 0)
        self.assertTrue(any(entry["lost"] > 0 for entry in report["coverage"]))


class Output(doctor.TestCase):
    def recording(self):
        with tarfile.open(RECORDING) as archive:
            archive.extractall(self.folder)
        return self.folder / "recording"

    def test_the_same_bytes_again_and_with_two_threads(self):
        recording = self.recording()
        once = self.doctor("show", "--json", "-", recording).stdout
        self.assertEqual(once, self.doctor("show", "--json", "-", recording).stdout)
        self.assertEqual(once, self.doctor("analyze", "--threads", "2", "--json", "-", recording).stdout)
        self.assertIn('"schema_version"', once.splitlines()[1])

    def test_fail_on(self):
        recording = self.recording()
        self.assertEqual(10, self.doctor("show", "--fail-on", "warning", recording).returncode)
        self.assertEqual(0, self.doctor("show", "--fail-on", "error", recording).returncode)

    def test_thresholds_can_be_set(self):
        done = self.doctor("show", "--set", "compress-not-overlapped.compress.serial_percent=99 %", "--set",
                           "expensive-compress.compress.serial_percent=99 %", "--json", "-", self.recording())
        self.assertNotIn("compress-not-overlapped", doctor.fired(json.loads(done.stdout)))

    def test_width_and_colour(self):
        recording = self.recording()
        narrow = self.doctor("show", recording, COLUMNS="40")
        self.assertLessEqual(max(len(line) for line in narrow.stdout.splitlines()), 40)
        self.assertNotIn("\x1b", narrow.stdout)
        self.assertIn("\x1b[", self.doctor("show", "--color", "always", recording).stdout)
        self.assertNotIn("\x1b", self.doctor("show", recording, NO_COLOR="1").stdout)
        self.assertTrue(self.doctor("show", recording, LC_ALL="C").stdout.isascii())
        self.assertLess(len(self.doctor("show", "-q", recording).stdout), len(self.doctor("show", "-v", recording).stdout))

    def test_a_json_file_that_cannot_be_written_costs_no_report(self):
        done = self.doctor("show", "--json", "/nonexistent/r.json", self.recording())
        self.assertSays(done, 125, "/nonexistent/r.json")
        self.assertIn("VERDICT", done.stdout)

    def test_help_version_rules_and_check(self):
        self.assertRegex(self.doctor("--version").stdout, r"^gradsync-doctor \d+\.\d+\.\d+\n$")
        for command in ("run", "analyze", "show", "check", "explain", "rules"):
            with self.subTest(command):
                done = self.doctor(command, "--help")
                self.assertEqual(0, done.returncode)
                self.assertIn("Usage: gradsync-doctor " + command, done.stdout)
        self.assertIn(" 0 problems", self.doctor("rules", "--check").stdout)
        self.assertIn("straggler-rank.straggler.late_percent=", self.doctor("rules", "--settable").stdout)
        self.assertIn("Holds when", self.doctor("explain", "straggler-rank").stdout)
        check = self.doctor("check", "--python", "/nonexistent/python")
        self.assertEqual(0, check.returncode)
        self.assertIn("unavailable", check.stdout)


if __name__ == "__main__":
    unittest.main()
