"""What the tests of the command line share: running the program, and a state folder of their own."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.path.abspath(os.environ.get("GSD_DOCTOR", ROOT / "build/release/gradsync-doctor"))


class TestCase(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="gsd-cli-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def environment(self, **more):
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("GSD_", "NVTX_"))}
        environment.update(XDG_STATE_HOME=str(self.folder / "state"), LC_ALL="C.UTF-8", COLUMNS="100")
        environment.update(more)
        return environment

    def doctor(self, *arguments, text=True, stdin="", **more):
        return subprocess.run([PROGRAM, *map(str, arguments)], env=self.environment(**more), text=text, timeout=120,
                              input=stdin if text else stdin.encode(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run_job(self, *command, options=(), **more):
        """The report of a job, as JSON, and how the program ended."""
        report = self.folder / "report.json"
        done = self.doctor("run", "--json", report, *options, "--", *command, **more)
        return (json.loads(report.read_text()) if report.exists() else None), done

    def assertSays(self, done, status, *words):
        self.assertEqual(status, done.returncode, done.stdout + done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertNotIn("terminate called", done.stderr)

    def coverage(self, report, source):
        """Of all sources whose names begin so."""
        return [entry for entry in report["coverage"] if entry["source"].startswith(source)]

    def entry(self, report, source):
        """The one that this source has."""
        entries = [entry for entry in report["coverage"] if entry["source"] == source]
        self.assertEqual(1, len(entries), report["coverage"])
        return entries[0]

    def assertFitsSchema(self, report):
        try:
            import jsonschema
        except ImportError:
            self.skipTest("python3-jsonschema is not installed")
        jsonschema.validate(report, json.loads((ROOT / "schema/report.schema.json").read_text()))


def fired(report):
    return [finding["rule"] for finding in report["findings"] if finding["state"] == "fired"]
