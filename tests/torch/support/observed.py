"""Runs small programs with the hook and gives back what they left: output, hellos, spools, windows.

GSD_TEST_LIBRARY   absolute path of libgradsync_inject.so
GSD_TORCH_PYTHON   the interpreter whose torch is used (default: the one that runs the test)
"""
import glob
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest

from . import spool

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SHIM = os.path.join(TESTS, "..", "..", "collectors", "torch")
SHIM = os.path.abspath(SHIM)
PYTHON = os.environ.get("GSD_TORCH_PYTHON") or sys.executable
LIBRARY = os.environ.get("GSD_TEST_LIBRARY", "")
SECONDS = 100   # of one job; gloo itself would hang for half an hour


def needs_library():
    return unittest.skipUnless(os.path.isfile(LIBRARY), "GSD_TEST_LIBRARY does not name libgradsync_inject.so")


_torch = {}


def torch_version():
    """Version text of GSD_TORCH_PYTHON's torch, or None."""
    if "version" not in _torch:
        done = subprocess.run([PYTHON, "-c", "import torch, torch.distributed as d; assert d.is_available();"
                                             "print(torch.__version__)"],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        _torch["version"] = done.stdout.decode().strip() if done.returncode == 0 else None
    return _torch["version"]


def needs_torch():
    return unittest.skipUnless(torch_version(), "%s has no torch with torch.distributed" % PYTHON)


class Recording:
    """A temporary recording folder and what is in it."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="gsd-test-")
        for name in ("hello", "events", "windows"):
            os.mkdir(os.path.join(self.folder, name))

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def hellos(self):
        found = []
        for path in sorted(glob.glob(os.path.join(self.folder, "hello", "*.json"))):
            with open(path) as file:
                found.append(json.load(file))
        return found

    def spools(self):
        return spool.spools(self.folder)

    def windows(self):
        """Names of finished profiles."""
        return sorted(name for name in os.listdir(os.path.join(self.folder, "windows")) if name.endswith(".json"))


def environment(recording=None, **more):
    """Of a job; observed when there is a recording. None removes a variable."""
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith("GSD_") and name not in ("PYTHONPATH", "RANK", "WORLD_SIZE", "LOCAL_RANK")}
    kept["OMP_NUM_THREADS"] = "1"
    if recording is not None:
        kept.update(GSD_RECORDING=recording.folder, GSD_LIBRARY=LIBRARY, PYTHONPATH=SHIM, GSD_DEEP="off",
                    GSD_BUDGET="1000")   # nothing is dropped because the machine is busy
    kept.update({name: value for name, value in more.items() if value is not None})
    for name in [name for name, value in more.items() if value is None]:
        kept.pop(name, None)
    return kept


class Outcome:
    def __init__(self, processes):
        self.outputs = []
        self.errors = []
        self.codes = []
        for process in processes:
            try:
                out, err = process.communicate(timeout=SECONDS)
            except subprocess.TimeoutExpired:
                for other in processes:
                    other.kill()
                out, err = process.communicate()
            self.outputs.append(out.decode())
            self.errors.append(err.decode())
            self.codes.append(process.returncode)

    def __str__(self):
        return "\n".join("rank %d: exit %s\n%s%s" % (rank, code, out, err) for rank, (code, out, err)
                         in enumerate(zip(self.codes, self.outputs, self.errors)))


def start(command, env, cwd=None):
    return subprocess.Popen(command, env=env, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def run(command, recording=None, cwd=None, **env):
    """One process."""
    return Outcome([start(command, environment(recording, **env), cwd)])


def run_job(name, *arguments, ranks=2, recording=None, **env):
    """tests/torch/jobs/<name>.py on every rank."""
    command = [PYTHON, os.path.join(TESTS, "jobs", name + ".py")] + list(arguments)
    common = environment(recording, MASTER_ADDR="127.0.0.1", MASTER_PORT=str(_free_port()), WORLD_SIZE=str(ranks),
                         **env)
    return Outcome([start(command, dict(common, RANK=str(rank), LOCAL_RANK=str(rank))) for rank in range(ranks)])


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class TestCase(unittest.TestCase):
    """A fresh recording per test."""

    def setUp(self):
        self.recording = Recording()
        self.addCleanup(self.recording.remove)

    def assertFinished(self, outcome):
        self.assertEqual([0] * len(outcome.codes), outcome.codes, str(outcome))
