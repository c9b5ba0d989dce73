#!/usr/bin/env python3
"""Wrong calls and wrong files: what is wrong, on what, why, and what helps; the status is the contract's."""
import contextlib
import fcntl
import json
import os
import pty
import shutil
import stat
import struct
import subprocess
import sys
import tarfile
import termios
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
        (["run", "--steps=-9:-3", "--", "true"], 2, ["--steps", "-9:-3"]),
        (["run", "--steps", "1:2x", "--", "true"], 2, ["--steps", "1:2x"]),
        (["run", "--steps", "1:99999999999", "--", "true"], 2, ["--steps"]),
        (["run", "--steps"], 2, ["--steps", "missing"]),
        (["run", "-o"], 2, ["--output", "missing"]),
        (["run", "--threads", "0", "--", "true"], 2, ["--threads"]),
        (["run", "--threads", "many", "--", "true"], 2, ["--threads"]),
        (["run", "--budget", "nan", "--", "true"], 2, ["--budget"]),
        (["run", "--linger=-1s", "--", "true"], 2, ["--linger", "-1s"]),
        (["run", "--"], 2, ["CMD"]),
        (["--bogus"], 2, ["--bogus"]),
        (["show"], 2, ["PATH"]),
        (["show", "a", "b"], 2, ["b", "gradsync-doctor show --help"]),
        (["check", "--color", "never"], 2, ["--color"]),
        (["rules", "[extra]"], 2, ["--check"]),
        (["explain", "one", "two"], 2, ["two"]),
        (["analyze", "--json"], 2, ["--json", "missing"]),
        (["analyze", "--html"], 2, ["--html", "missing"]),
        (["show", "--html", "-", "--json", "-", "/dev/null"], 2, ["--json and --html", "both want it"]),
        (["sweep", "--html", "x", "--json", "x"], 2, ["--json and --html", "both want it"]),
        (["show", "/dev/null"], 3, ["/dev/null", "empty"]),
        (["show", "/usr"], 3, ["/usr"]),
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


class WrongRules(doctor.TestCase):
    RULE = (doctor.ROOT / "rules/step1-straggler-rank.toml").read_text()

    def folder_of(self, **files):
        folder = self.folder / "rules"
        folder.mkdir(exist_ok=True)
        for name, text in files.items():
            (folder / (name + ".toml")).write_text(text)
        return folder

    def test_each_says_file_and_what(self):
        for files, words in [({}, ["no file there ends with .toml"]),
                             ({"broken": "id = "}, ["broken.toml:1"]),
                             ({"key": 'colour = "blue"\n' + self.RULE}, ["key.toml:", "colour"]),
                             ({"one": self.RULE, "two": self.RULE}, ["two.toml", "straggler-rank"])]:
            with self.subTest(list(files)):
                for command in ("rules", "explain"):
                    self.assertSays(self.doctor(command, "--rules", self.folder_of(**files)), 2, *words)
                shutil.rmtree(self.folder / "rules")

    def test_a_rule_that_breaks_its_own_example(self):
        folder = self.folder_of(other=self.RULE.replace('expect  = "fires"', 'expect  = "clean"', 1))
        done = self.doctor("rules", "--check", "--rules", folder)
        self.assertSays(done, 4, "other.toml:", "straggler-rank")
        self.assertNotIn(" 0 problems", done.stdout)

    def check_file(self, text):
        file = self.folder / "own.toml"
        file.write_text(text)
        return self.doctor("rules", "--check", file)

    def test_one_file_is_checked_with_its_names(self):
        own = self.RULE.replace('"straggler-rank"', '"our-rule"').replace("priority", "#priority")
        done = self.check_file(own)
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertIn("1 rules, ", done.stdout)
        unknown = self.check_file(own.replace("straggler.late_percent", "straggler.lateness_percent"))
        line = 1 + own[:own.index("straggler.late_percent")].count("\n")
        self.assertSays(unknown, 4, "own.toml:%d: our-rule: no metric is called straggler.lateness_percent" % line)
        self.assertSays(self.check_file(own[:own.index("[[example]]")]), 4, "own.toml:", "no example that expects fires")
        self.assertSays(self.check_file('colour = "blue"\n' + own), 2, "own.toml:", "colour")
        self.assertSays(self.check_file("id = "), 2, "own.toml:1")
        self.assertSays(self.doctor("rules", "--check", self.folder / "none.toml"), 2, "none.toml", "No such file")

    def test_one_folder_each_time(self):
        own = self.folder_of(own=self.RULE)
        self.assertSays(self.doctor("explain", "--rules", own, "straggler-rank"), 0)
        self.assertSays(self.doctor("explain", "--rules", own, "--rules", self.folder, "straggler-rank"), 2, str(self.folder))


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

    def test_a_report_that_lost_something(self):
        path = self.folder / "part.json"
        self.doctor("check", "--json", path)
        whole = path.read_text()
        path.write_text(whole[:len(whole) // 2])
        self.assertSays(self.doctor("show", path), 3, "part.json", "not JSON at line")
        report = json.loads(whole)
        del report["verdict"]["text"]
        path.write_text(json.dumps(report))
        self.assertSays(self.doctor("show", path), 3, "part.json", "verdict.text is missing")

    def test_files_that_are_no_trace(self):
        spool = sorted((self.recording() / "events").iterdir())[0]
        for content, word in [(b"", "empty"), (b"hello", "no known kind"), (b'{"a": 1}', "without a list of trace events"),
                              (b"SQLite format 3\0", "SQLite"), (b"PK\x03\x04", "archive"), (b"\x1f\x8b\x08", "empty"),
                              (spool.read_bytes(), "spool of one process")]:
            with self.subTest(word):
                self.assertSays(self.doctor("analyze", self.file("x.json", content)), 3, "x.json", word)

    def test_a_bad_trace_among_good_ones(self):
        good = self.file("good.json", json.dumps({"traceEvents": []}))
        done = self.doctor("analyze", "--json", "-", good, self.file("bad.json", "bad"))
        self.assertEqual(0, done.returncode, done.stderr)
        entry = self.coverage(json.loads(done.stdout), "file bad.json")[0]
        self.assertEqual("unavailable", entry["state"])
        self.assertIn("no known kind", entry["reason"])

    def test_folders_and_patterns_of_traces(self):
        folder = self.folder / "traces"
        (folder / "deeper").mkdir(parents=True)
        events = [{"ph": "X", "name": "work", "pid": 1, "tid": 1, "ts": 1000 * i, "dur": 900} for i in range(30)]
        for name in ("rank0.json", "deeper/rank1.json"):
            (folder / name).write_text(json.dumps({"traceEvents": events}))
        (folder / "notes.txt").write_text("nothing of ours")
        for arguments, left_out in [([folder], 1), ([str(folder / "rank*.json"), str(folder / "*" / "rank[0-9].json")], 0),
                                    ([folder / "rank0.json", folder], 1)]:
            with self.subTest(arguments=arguments):
                done = self.doctor("analyze", "--json", "-", *arguments)
                self.assertEqual(0, done.returncode, done.stderr)
                report = json.loads(done.stdout)
                self.assertEqual(2, report["run"]["ranks"])
                self.assertEqual(left_out, len(self.coverage(report, "folder " + str(folder))))
        self.assertSays(self.doctor("analyze", str(folder / "*.sqlite")), 3, "no file matches")

    def test_folders_that_hold_no_recording(self):
        for command in ("show", "analyze"):
            with self.subTest(command):
                self.assertSays(self.doctor(command, self.folder), 3, str(self.folder))

    def test_a_recording_that_lost_its_parts(self):
        recording = self.recording()
        (recording / "recording.json").write_text("{")
        (recording / "series/processes.json").write_text("")
        done = self.doctor("show", "--json", "-", recording)
        self.assertEqual(0, done.returncode, done.stderr)
        report = json.loads(done.stdout)
        self.assertGreater(report["run"]["steps"], 0)
        for part in ("recording.json", "series processes.json"):
            self.assertEqual("partial", self.coverage(report, part)[0]["state"], part)

    def test_a_report_given_to_analyze(self):
        path = self.folder / "report.json"
        self.doctor("check", "--json", path)
        self.assertSays(self.doctor("analyze", path), 3, "show")

    def test_a_trace_that_is_cut_is_read_up_to_there(self):
        events = [{"ph": "X", "name": "step", "pid": 1, "tid": 1, "ts": 1000 * i, "dur": 900} for i in range(30)]
        done = self.doctor("analyze", "--json", "-", self.file("cut.json", json.dumps({"traceEvents": events})[:-40]))
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertEqual("partial", self.coverage(json.loads(done.stdout), "profiler trace cut.json")[0]["state"])

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

    def test_colour_and_width_of_a_terminal(self):
        recording = self.recording()
        self.assertIn(b"\x1b[", self.at_terminal("show", recording))
        for plain in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
            with self.subTest(plain):
                self.assertNotIn(b"\x1b", self.at_terminal("show", recording, **plain))
        self.assertNotIn(b"\x1b", self.at_terminal("show", "--color", "never", recording))
        lines = self.at_terminal("show", recording, NO_COLOR="1", LC_ALL="C", COLUMNS="150").splitlines()
        self.assertLessEqual(max(map(len, lines)), 64)

    def at_terminal(self, *arguments, **more):
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 64, 0, 0))
        process = subprocess.Popen([doctor.PROGRAM, *map(str, arguments)], env=self.environment(**{"TERM": "xterm", **more}), stdout=theirs)
        os.close(theirs)
        shown = b""
        with contextlib.suppress(OSError):  # how a terminal without writers ends
            while block := os.read(ours, 65536):
                shown += block
        os.close(ours)
        self.assertEqual(0, process.wait())
        return shown

    def test_a_json_file_that_cannot_be_written_costs_no_report(self):
        for option in ("--json", "--html"):
            with self.subTest(option):
                done = self.doctor("show", option, "/dev/full", self.recording_again())
                self.assertSays(done, 125, "/dev/full", "No space left")
                self.assertIn("VERDICT", done.stdout)

    def recording_again(self):
        return self.folder / "recording" if (self.folder / "recording").exists() else self.recording()

    def test_a_place_that_cannot_be_written_is_refused_before_anything_else(self):
        for command in (["run", "--", "touch", self.folder / "ran"], ["analyze", "x"], ["show", "x"], ["whatif", "x"],
                        ["sweep", "--ranks", 2], ["bench"], ["irq", "--duration", "1h"]):
            for option, place, why in (("--json", "/nonexistent/r", "No such file"), ("--html", "/nonexistent/r", "No such file"),
                                       ("--html", self.folder, "Is a directory")):
                with self.subTest(command=command[0], option=option):
                    done = self.doctor(command[0], option, place, *command[1:])
                    self.assertSays(done, 125, f"cannot write {place}", why)
                    self.assertEqual("", done.stdout)
        self.assertFalse((self.folder / "ran").exists())

    def test_a_page_beside_the_report_or_alone_and_a_page_and_json_at_once(self):
        recording, page, data = self.recording(), self.folder / "r.html", self.folder / "r.json"
        both = self.doctor("show", "--html", page, "--json", data, recording)
        self.assertSays(both, 0)
        self.assertIn("VERDICT", both.stdout)
        self.assertEqual(stat.S_IMODE(page.stat().st_mode), 0o600)
        text = page.read_text()
        self.assertTrue(text.startswith("<!DOCTYPE html>\n<html lang=\"en\">"))
        self.assertTrue(text.endswith("</html>\n"))
        self.assertEqual(text, self.doctor("show", "--html", "-", data).stdout)
        alone = self.doctor("show", "--html", page, "--json", "-", recording)
        self.assertEqual(data.read_text(), alone.stdout)
        self.assertEqual(text, self.doctor("analyze", "--html", "-", recording).stdout.replace("analyze ", ""))
        check = subprocess.run([sys.executable, doctor.ROOT / "tests/unit/report/html/check_html.py", page],
                               stdout=subprocess.PIPE, text=True)
        self.assertEqual("", check.stdout)

    def test_standard_output_that_is_full(self):
        for arguments in (["show", self.recording()], ["rules"], ["explain"], ["check"]):
            with self.subTest(arguments), open("/dev/full", "w") as full:
                done = subprocess.run([doctor.PROGRAM, *map(str, arguments)], env=self.environment(), stdout=full,
                                      stderr=subprocess.PIPE, text=True, timeout=120)
                self.assertEqual(125, done.returncode, done.stderr)
                self.assertIn("cannot write", done.stderr)

    def test_a_report_in_json_is_drawn_like_its_recording(self):
        recording, path = self.recording(), self.folder / "again.json"
        drawn = self.doctor("show", "--json", path, recording)
        self.assertEqual(0, drawn.returncode, drawn.stderr)
        self.assertEqual(drawn.stdout, self.doctor("show", path).stdout)
        self.assertEqual(path.read_text(), self.doctor("show", "--json", "-", path).stdout)

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
