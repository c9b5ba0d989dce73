#!/usr/bin/env python3
"""What the shim does to an interpreter that has nothing to do with torch: a hello, and nothing else to be seen."""
import os
import stat
import subprocess
import tempfile
import unittest

from support import observed
from support.observed import PYTHON, SHIM, environment

SAY = "import sys; print(getattr(sys, 'customized', None), 'torch' in sys.modules)"


class Interpreter(observed.TestCase):
    def setUp(self):
        super().setUp()
        self.site = tempfile.TemporaryDirectory(prefix="gsd-site-")
        self.addCleanup(self.site.cleanup)

    def site_with(self, text, module="sitecustomize"):
        """A folder of the user's with a module of that text."""
        with open(os.path.join(self.site.name, module + ".py"), "w") as file:
            file.write(text)
        return self.site.name

    def run_python(self, *arguments, path=SHIM, python=PYTHON, env=None):
        """Runs it observed; library-less, so that only the start-up counts."""
        full = environment(self.recording, PYTHONPATH=path, GSD_LIBRARY="/nowhere.so")
        full.update(env or {})
        done = subprocess.run([python] + list(arguments), env=full, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              cwd=self.site.name, timeout=60)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def control(self, *arguments, path=None, python=PYTHON):
        """The same without the shim."""
        full = environment(None, PYTHONPATH=path)
        done = subprocess.run([python] + list(arguments), env=full, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              cwd=self.site.name, timeout=60)
        return done.returncode, done.stdout.decode(), done.stderr.decode()


class Hello(Interpreter):
    def test_says_who_runs(self):
        self.run_python("-c", "pass", "one", 'a "quoted" \\ \u00e9', env={"RANK": "3", "WORLD_SIZE": "8"})
        hello, = self.recording.hellos()
        self.assertEqual(["one", 'a "quoted" \\ \u00e9'], hello["argv"][-2:])
        self.assertEqual(("3", "8"), (hello["RANK"], hello["WORLD_SIZE"]))
        self.assertEqual({"pid", "ppid", "executable", "argv", "python", "flags", "RANK", "WORLD_SIZE", "monotonic_ns"},
                         set(hello))

    def test_only_the_owner_can_read_it(self):
        self.run_python("-c", "pass")
        folder = os.path.join(self.recording.folder, "hello")
        name, = os.listdir(folder)
        self.assertEqual(0o600, stat.S_IMODE(os.stat(os.path.join(folder, name)).st_mode))

    def test_does_not_follow_a_planted_link(self):
        victim = os.path.join(self.site.name, "victim")
        # given a link under every name the next processes may choose
        text = ("import os, sys\n"
                "name = '%%s-%%d.json' %% (os.uname().nodename, os.getpid())\n"
                "os.symlink(%r, os.path.join(%r, 'hello', name))\n"
                "os.execv(sys.executable, [sys.executable, '-c', 'pass'])")
        self.run_python("-S", "-c", text % (victim, self.recording.folder))
        self.assertFalse(os.path.exists(victim))

    def test_an_undecodable_argument_is_still_json(self):
        self.run_python("-c", "pass", os.fsdecode(b"\xff\xfe"))
        self.assertEqual(1, len(self.recording.hellos()))

    def test_a_second_interpreter_of_one_process(self):
        self.run_python("-c", "import os, sys; os.execv(sys.executable, [sys.executable, '-c', 'pass'])")
        self.assertEqual(2, len(self.recording.hellos()))

    def test_children(self):
        text = ("import multiprocessing as m, subprocess, sys\n"
                "def nothing(): pass\n"
                "if __name__ == '__main__':\n"
                "    subprocess.run([sys.executable, '-c', 'pass'])\n"
                "    for method in ('fork', 'spawn'):\n"
                "        p = m.get_context(method).Process(target=nothing); p.start(); p.join()\n"
                "        assert p.exitcode == 0\n")
        with open(os.path.join(self.site.name, "children.py"), "w") as file:
            file.write(text)
        code, _, error = self.run_python("children.py")
        self.assertEqual(0, code, error)
        # parent, subprocess, spawn and its resource tracker; a fork is no new interpreter
        self.assertIn(len(self.recording.hellos()), (3, 4))

    def test_absent_where_python_ignores_the_environment(self):
        for flag in ("-I", "-E", "-S"):
            with self.subTest(flag):
                code, _, _ = self.run_python(flag, "-c", "pass")
                self.assertEqual(0, code)
                self.assertEqual([], self.recording.hellos())

    def test_absent_in_an_emptied_environment(self):
        subprocess.run(["env", "-i", PYTHON, "-c", "pass"], env=environment(self.recording))
        self.assertEqual([], self.recording.hellos())

    def test_absent_behind_a_sitecustomize_that_comes_first(self):
        site = self.site_with("import sys; sys.customized = 'user'")
        _, out, _ = self.run_python("-c", SAY, path=site + ":" + SHIM)
        self.assertEqual("user False\n", out)
        self.assertEqual([], self.recording.hellos())

    def test_absent_and_silent_without_a_recording(self):
        done = subprocess.run([PYTHON, "-c", SAY], env=environment(None, PYTHONPATH=SHIM), stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        self.assertTrue(done.stdout.endswith(b" False\n"), done.stdout)

    def test_a_recording_that_cannot_be_written_is_silent(self):
        code, out, error = self.run_python("-c", SAY, env={"GSD_RECORDING": "/nonexistent"})
        self.assertEqual((0, ""), (code, error))


class Chain(Interpreter):
    """The sitecustomize that we hide behaves as if we were not there."""

    def same_as_without(self, *arguments, site=None):
        """Runs both ways and compares output, error text and exit status."""
        with_shim = self.run_python(*arguments, path=SHIM + (":" + site if site else ""))
        without = self.control(*arguments, path=site)
        self.assertEqual(without, with_shim)
        self.assertEqual(1, len(self.recording.hellos()))
        return with_shim

    def test_a_later_one_runs(self):
        site = self.site_with("import sys; sys.customized = __name__ + ' ' + __file__.rpartition('/')[2]")
        _, out, _ = self.same_as_without("-c", SAY, site=site)
        self.assertEqual("sitecustomize sitecustomize.py False\n", out)

    def test_modules_and_path_look_untouched(self):
        site = self.site_with("import sys; sys.customized = 1")
        text = "import sys, sitecustomize as s; print(sys.path, s.__file__, s.__spec__.name)"
        self.same_as_without("-c", text, site=site)

    def test_the_platforms_own(self):
        self.same_as_without("-c", SAY)

    def test_usercustomize_and_module_and_script(self):
        site = self.site_with("print('in usercustomize')", module="usercustomize")
        self.same_as_without("-c", SAY, site=site)

    def test_dash_m(self):
        self.same_as_without("-m", "this")

    def test_one_that_raises(self):
        for count, text in enumerate(("raise ValueError('broken site')", "import nosuch", "syntax error",
                                      "raise ImportError('x', name='sitecustomize2')"), 1):
            with self.subTest(text):
                site = self.site_with(text)
                self.assertEqual(self.control("-c", SAY, path=site),
                                 self.run_python("-c", SAY, path=SHIM + ":" + site))
                self.assertEqual(count, len(self.recording.hellos()))

    def test_one_that_exits(self):
        # the interpreter prints a traceback then, and the chain is in it
        site = self.site_with("raise SystemExit(7)")
        with_shim, without = self.run_python("-c", SAY, path=SHIM + ":" + site), self.control("-c", SAY, path=site)
        self.assertEqual(without[:2], with_shim[:2])
        self.assertEqual(without[2].splitlines()[-1], with_shim[2].splitlines()[-1])

    def test_one_that_changes_the_path(self):
        site = self.site_with("import sys; sys.path.insert(0, '/added'); sys.path.append('/appended')")
        self.same_as_without("-c", "import sys; print(sys.path)", site=site)

    def test_in_a_virtual_environment(self):
        folder = os.path.join(self.site.name, "venv")
        subprocess.run([PYTHON, "-m", "venv", "--without-pip", folder], check=True, env=environment(None))
        python = os.path.join(folder, "bin", "python")
        site = self.site_with("import sys; sys.customized = 'in venv'")
        out = self.run_python("-c", SAY, path=SHIM + ":" + site, python=python)
        self.assertEqual(self.control("-c", SAY, path=site, python=python), out)


if __name__ == "__main__":
    unittest.main()
