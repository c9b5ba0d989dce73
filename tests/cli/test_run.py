#!/usr/bin/env python3
"""`run` is in nobody's way: CMD's bytes, its status, its input and its arguments are its own."""
import contextlib
import json
import os
import shutil
import signal
import stat
import subprocess
import unittest

import doctor


# Writes many steps through the library, as the hook does.
WRITE_STEPS = """
import ctypes, os, time
library = ctypes.CDLL(os.environ["GSD_LIBRARY"])
library.gsd_step.argtypes = [ctypes.c_int64, ctypes.c_uint32, ctypes.c_uint32]
begin = time.monotonic_ns()
for step in range(20000):
    library.gsd_step(begin + step * 1000000, 0, 0)
library.gsd_goodbye()
print("trained")
"""


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
        python = self.folder / "python3"  # it is tried before it is started, which must leave nothing behind either
        python.write_text("#!/nonexistent/interpreter\n")
        python.chmod(0o755)
        self.assertSays(self.doctor("run", "--", python), 127, "cannot run")
        self.assertFalse(list(self.folder.glob("state/gradsync-doctor/recordings/*")))

    def test_a_closed_folder_in_the_path_does_not_hide_what_is_wrong(self):
        closed = self.folder / "closed"
        closed.mkdir(mode=0o000)
        with_closed = {"PATH": "%s:/usr/bin:/bin" % closed}
        self.assertSays(self.doctor("run", "--", "no-such-program", **with_closed), 127, "No such file")
        (self.folder / "plain").write_text("no program")
        with_plain = {"PATH": "%s:/usr/bin:/bin" % self.folder}
        self.assertSays(self.doctor("run", "--", "plain", **with_plain), 126, "Permission denied")

    def test_a_script_without_a_first_line_is_for_the_shell(self):
        script = self.folder / "job"
        script.write_text("echo from the script $1\nexit 4\n")
        script.chmod(0o755)
        done = self.doctor("run", "-q", "--", script, "here")
        self.assertEqual(4, done.returncode)
        self.assertIn("from the script here\n", done.stdout)

    def test_the_two_dashes_may_be_left_out(self):
        done = self.doctor("run", "-q", "--set", "straggler-rank.straggler.late_percent=5 %",
                           "sh", "-c", 'printf "<%s>" "$@"', "sh", "--help", "[1]", "show", "--", "-q")
        self.assertTrue(done.stdout.startswith("<--help><[1]><show><--><-q>"), done.stdout + done.stderr)

    def test_every_byte_of_the_environment_and_the_arguments(self):
        code = "import os, sys; print(os.environb[b'MINE'] == b'\\xff=\\n', os.fsencode(sys.argv[1]) == b'\\xfe\\x01')"
        done = subprocess.run([os.fsencode(doctor.PROGRAM), b"run", b"--json", b"-", b"--", b"/usr/bin/python3", b"-c",
                               code.encode(), b"\xfe\x01"], stdout=subprocess.PIPE, timeout=120,
                              env={**self.environment(), "MINE": b"\xff=\n"})
        said, _, report = done.stdout.partition(b"\n")
        self.assertEqual(b"True True", said)
        self.assertIn("\ufffd\x01", json.loads(report)["run"]["command_line"])

    def test_started_with_child_signals_ignored(self):
        done = self.ignoring((signal.SIGCHLD,), "sh", "-c", "exit 7")
        self.assertEqual(7, done.returncode)
        # The program that tries an interpreter before the job hears how it ended, too.
        check = self.ignoring((signal.SIGCHLD,), command=("check", "--python", "/usr/bin/python3"))
        self.assertNotIn("No child", check.stdout)

    def ignoring(self, numbers, *job, command=("run", "-q", "--")):
        def ignore():
            for number in numbers:
                signal.signal(number, signal.SIG_IGN)
        return subprocess.run([doctor.PROGRAM, *command, *job], env=self.environment(), stdout=subprocess.PIPE, text=True,
                              timeout=120, preexec_fn=ignore)

    def test_what_the_shell_ignores_the_job_ignores(self):
        done = self.ignoring((signal.SIGCHLD, signal.SIGINT, signal.SIGHUP), "grep", "SigIgn", "/proc/self/status")
        ignored = int(done.stdout.splitlines()[0].split()[1], 16)
        for number in (signal.SIGCHLD, signal.SIGINT, signal.SIGHUP):
            self.assertTrue(ignored >> (number - 1) & 1, number)
        self.assertFalse(ignored >> (signal.SIGTERM - 1) & 1)

    def test_a_working_directory_that_is_gone(self):
        for options in ((), ("-o", "recording")):
            with self.subTest(options):
                gone = self.folder / "gone"
                gone.mkdir()
                done = subprocess.run(["sh", "-c", 'cd "$0" && rmdir "$0" && exec "$@"', gone, doctor.PROGRAM, "run", "-q",
                                       *options, "--", "sh", "-c", "echo trained; exit 7"],
                                      env=self.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                      timeout=120)
                self.assertEqual(7, done.returncode, done.stderr)
                self.assertIn("trained\n", done.stdout)
                self.assertIn("VERDICT", done.stdout)

    def test_json_into_a_pipe(self):
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        reader = subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE, text=True)
        self.assertEqual(0, self.doctor("run", "-q", "--json", pipe, "--", "true").returncode)
        report, _ = reader.communicate(timeout=60)
        self.assertEqual(["true"], json.loads(report)["run"]["command_line"])
        self.assertTrue(pipe.is_fifo())

    def test_json_into_the_standard_streams(self):
        done = self.doctor("run", "-q", "--json", "/dev/stderr", "--", "true")
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertEqual(["true"], json.loads(done.stderr)["run"]["command_line"])

    def test_the_jobs_status_wins_over_a_report_that_cannot_be_written(self):
        for option in ("--json", "--html"):
            self.assertEqual(7, self.doctor("run", option, "/dev/full", "--", "sh", "-c", "exit 7").returncode)
            self.assertEqual(125, self.doctor("run", option, "/dev/full", "--", "true").returncode)

    def test_a_doctor_inside_a_doctor(self):
        done = self.doctor("run", "-q", "--", doctor.PROGRAM, "run", "--", "sh", "-c", "exit 3")
        self.assertEqual(3, done.returncode)
        self.assertIn("passing through", done.stderr)
        self.assertEqual(1, done.stdout.count("VERDICT"))


class RecordingFolder(doctor.TestCase):
    def test_private(self):
        recording = self.folder / "recording"
        self.doctor("run", "-q", "-o", recording, "--", "/usr/bin/python3", "-c", "pass")
        self.assertFalse((self.folder / "state").exists(), "a state folder nobody asked for")
        # One greeting, the job's: an interpreter that was only tried is not of the job.
        self.assertEqual(1, len(list((recording / "hello").iterdir())))
        for path in [recording, *recording.rglob("*")]:
            with self.subTest(str(path)):
                self.assertEqual(0o700 if path.is_dir() else 0o600, stat.S_IMODE(path.stat().st_mode))

    def assertWentElsewhere(self, recording, named=None):
        report, done = self.run_job("true", options=("-o", recording))
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertIn("cannot make the folder %s: " % (named or recording), done.stderr)
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
        for name in (link, str(link) + "/"):
            self.assertWentElsewhere(name, named=link)
            self.assertEqual([], os.listdir(target))

    def begun_by(self, host):
        """A recording that the doctor of another host is still writing."""
        recording = self.folder / ("of-" + host)
        recording.mkdir(mode=0o700)
        for part in ("hello", "events"):
            (recording / part).mkdir(mode=0o700)
        (recording / "hello" / (host + "-4711.json")).write_text("{}")
        return recording

    def test_a_recording_of_another_host_is_joined(self):
        recording = self.begun_by("node-7")
        report, done = self.run_job("true", options=("-o", recording))
        self.assertEqual(str(recording), os.path.abspath(report["run"]["recording"]))
        self.assertIn("1 other host(s) record into this folder; when all have ended:\n  gradsync-doctor analyze %s"
                      % recording, done.stderr)

    def test_a_recording_of_this_host_or_a_finished_one_is_not_joined(self):
        mine = self.begun_by(os.uname().nodename)
        self.assertWentElsewhere(mine)
        self.assertFalse((mine / "recording.json").exists())
        finished = self.begun_by("node8")
        (finished / "recording.json").write_text("{}")
        self.assertWentElsewhere(finished)
        self.assertEqual("{}", (finished / "recording.json").read_text())
        open_to_all = self.begun_by("node9")
        open_to_all.chmod(0o755)
        self.assertWentElsewhere(open_to_all)

    def test_an_empty_folder_is_taken(self):
        mine = self.folder / "mine"
        mine.mkdir(mode=0o755)
        report, done = self.run_job("true", options=("-o", mine))
        self.assertEqual("", done.stderr)
        self.assertEqual("mine", report["run"]["recording_id"])
        self.assertEqual(0o700, stat.S_IMODE(mine.stat().st_mode))

    def test_a_folder_that_may_not_be_written(self):
        as_other = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []
        self.folder.chmod(0o755)
        closed, free = self.folder / "closed", self.folder / "free"
        closed.mkdir(mode=0o555)
        free.mkdir()
        free.chmod(0o777)
        if as_other and not (shutil.which("setpriv") and self.works([*as_other, doctor.PROGRAM, "--version"])):
            self.skipTest("root may write everywhere, and setpriv cannot run the program as somebody else")
        for state in (free, closed):
            with self.subTest(state.name):
                done = subprocess.run([*as_other, doctor.PROGRAM, "run", "--json", "-", "-o", closed / "recording", "--", "sh",
                                       "-c", "exit 6"], cwd="/", timeout=120, text=True, stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE,
                                      env=self.environment(XDG_STATE_HOME=str(state), HOME=str(closed), TMPDIR=str(closed)))
                self.assertEqual(6, done.returncode, done.stderr)
                self.assertIn("closed/recording: Permission denied", done.stderr)
                report = json.loads(done.stdout)
                self.assertEqual(["sh", "-c", "exit 6"], report["run"]["command_line"])
                nowhere = state == closed
                self.assertEqual(nowhere, any(entry["source"] == "recording" for entry in report["coverage"]))
                self.assertEqual(nowhere, report["run"]["recording"] == "")

    @staticmethod
    def works(command):
        return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0

    def test_nothing_in_the_working_directory_is_taken_for_a_recording(self):
        for name in ("hello", "events", "windows"):
            (self.folder / name).write_text("mine")
        done = subprocess.run([doctor.PROGRAM, "run", "--", "no-such-program"], cwd=self.folder, timeout=120,
                              stderr=subprocess.PIPE, env=self.environment(XDG_STATE_HOME="/proc", HOME="/proc", TMPDIR="/proc"))
        self.assertEqual(127, done.returncode)
        self.assertEqual(["events", "hello", "windows"], sorted(os.listdir(self.folder)))

    def test_a_parent_that_is_not_there(self):
        self.assertWentElsewhere(self.folder / "no" / "such" / "parent")

    def test_a_full_disk(self):
        with self.small_disk("32k") as disk:
            fill = "dd if=/dev/zero of='%s' bs=4k 2>/dev/null; echo trained" % (disk / "filler")
            report, done = self.run_job("sh", "-c", fill, options=("-o", disk / "recording"))
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertIn("trained", done.stdout)
        self.assertTrue(any("No space left" in entry["reason"] for entry in report["coverage"]), report["coverage"])

    def test_a_disk_that_fills_up_with_the_recording(self):
        with self.small_disk("384k") as disk:
            report, done = self.run_job("/usr/bin/python3", "-c", WRITE_STEPS, options=("-o", disk / "recording"))
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertTrue(done.stdout.startswith("trained\n"), done.stdout)
        self.assertTrue(any(entry["lost"] > 0 for entry in report["coverage"]), report["coverage"])
        self.assertGreater(report["run"]["steps"], 0)

    @contextlib.contextmanager
    def small_disk(self, size):
        if os.geteuid() != 0:
            self.skipTest("mounting a small tmpfs needs root")
        disk = self.folder / "disk"
        disk.mkdir()
        if not self.works(["mount", "-t", "tmpfs", "-o", "size=" + size, "tmpfs", disk]):
            self.skipTest("tmpfs cannot be mounted here")
        try:
            yield disk
        finally:
            subprocess.run(["umount", disk], check=True)


if __name__ == "__main__":
    unittest.main()
