#!/usr/bin/env python3
"""`run` is in nobody's way: CMD's bytes, its status, its input and its arguments are its own."""
import os
import stat
import subprocess
import unittest

import doctor


class PassThrough(doctor.TestCase):
    def test_status(self):
        for status in (0, 1, 7, 255):
            with self.subTest(status):
                self.assertEqual(status, self.doctor("run", "-q", "--", "sh", "-c", "exit %d" % status).returncode)
        self.assertEqual(128 + 9, self.doctor("run", "-q", "--", "sh", "-c", "kill -KILL $$").returncode)

    def test_the_commands_failure_wins_over_the_gate(self):
        self.assertEqual(7, self.doctor("run", "-q", "--fail-on", "info", "--", "sh", "-c", "exit 7").returncode)
        self.assertEqual(10, self.doctor("run", "-q", "--fail-on", "info", "--", "true").returncode)

    def test_output_is_untouched(self):
        script = "import sys; sys.stdout.buffer.write(bytes(range(256)) * 9); sys.stderr.buffer.write(b'e\\x00\\xff')"
        done = self.doctor("run", "-q", "--", "/usr/bin/python3", "-c", script, text=False)
        self.assertTrue(done.stdout.startswith(bytes(range(256)) * 9))
        self.assertEqual(b"e\x00\xff", done.stderr)

    def test_input_arguments_and_environment_pass(self):
        done = self.doctor("run", "-q", "--json", self.folder / "r.json", "--", "sh", "-c", "cat; printf '<%s>' \"$@\"; printf %s \"$MINE\"",
                           "sh", "[a,b]", "--json", "-q", "a b", "", "\x01x", stdin="typed", MINE="yes")
        self.assertTrue(done.stdout.startswith("typed<[a,b]><--json><-q><a b><><\x01x>yes"), done.stdout[:200])

    def test_json_alone_on_standard_output(self):
        done = self.doctor("run", "--json", "-", "--", "true")
        self.assertTrue(done.stdout.startswith("{"))
        self.assertNotIn("VERDICT", done.stdout)

    def test_what_cannot_be_started(self):
        plain = self.folder / "plain"
        plain.write_text("no program")
        for command, status, word in [("no-such-program", 127, "No such file"), (plain, 126, "Permission denied"),
                                      (self.folder, 126, "Permission denied")]:
            with self.subTest(str(command)):
                self.assertSays(self.doctor("run", "--", command), status, "cannot run", word, "try:")
        self.assertFalse(list(self.folder.glob("state/gradsync-doctor/recordings/*")))

    def test_a_doctor_inside_a_doctor(self):
        done = self.doctor("run", "-q", "--", doctor.PROGRAM, "run", "--", "sh", "-c", "exit 3")
        self.assertEqual(3, done.returncode)
        self.assertIn("passing through", done.stderr)
        self.assertEqual(1, done.stdout.count("VERDICT"))


class RecordingFolder(doctor.TestCase):
    def test_private(self):
        recording = self.folder / "recording"
        self.doctor("run", "-q", "-o", recording, "--", "/usr/bin/python3", "-c", "pass")
        for path in [recording, *recording.rglob("*")]:
            with self.subTest(str(path)):
                self.assertEqual(0o700 if path.is_dir() else 0o600, stat.S_IMODE(path.stat().st_mode))

    def assertWentElsewhere(self, recording, **how):
        report, done = self.run_job("true", options=("-o", recording), **how)
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertIn(str(recording), done.stderr)
        self.assertEqual("partial", self.coverage(report, "recording folder")[0]["state"])
        self.assertNotEqual(str(recording), report["run"]["recording"])

    def test_a_folder_that_is_in_use_or_a_link(self):
        used = self.folder / "used"
        used.mkdir()
        (used / "file").write_text("mine")
        self.assertWentElsewhere(used)
        self.assertEqual(["file"], os.listdir(used))
        link = self.folder / "link"
        target = self.folder / "target"
        target.mkdir()
        link.symlink_to(target)
        self.assertWentElsewhere(link)
        self.assertEqual([], os.listdir(target))

    def test_a_parent_that_is_not_there(self):
        self.assertWentElsewhere(self.folder / "no" / "such" / "parent")

    def test_a_full_disk(self):
        if os.geteuid() != 0:
            self.skipTest("mounting a small tmpfs needs root")
        disk = self.folder / "disk"
        disk.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32k", "tmpfs", disk], stderr=subprocess.DEVNULL).returncode:
            self.skipTest("tmpfs cannot be mounted here")
        try:
            fill = "dd if=/dev/zero of='%s' bs=4k 2>/dev/null; echo trained" % (disk / "filler")
            report, done = self.run_job("sh", "-c", fill, options=("-o", disk / "recording"))
        finally:
            subprocess.run(["umount", disk], check=True)
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertIn("trained", done.stdout)
        self.assertTrue(any("No space left" in entry["reason"] for entry in report["coverage"]), report["coverage"])


if __name__ == "__main__":
    unittest.main()
