"""Starts the ranks of a sweep (sweep_ranks) for the tests of this folder, and ends what it started."""
import json
import os
import pathlib
import socket
import subprocess
import time
import unittest

PROGRAM = os.environ["GSD_SWEEP_RANKS"]
PLUGINS = os.environ.get("GSD_PLUGINS", "")
ONE_RUN_S = 120


def plugin_is_missing():
    return None if (pathlib.Path(PLUGINS) / "libgradsync_gloo.so").exists() else "this build has no Gloo (Debian: libgloo-dev)"


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class TestCase(unittest.TestCase):
    def setUp(self):
        reason = plugin_is_missing()
        if reason:
            self.skipTest(reason)

    def start(self, before=(), environment=None, **options):
        words = ["%s=%s" % pair for pair in {"plugins": PLUGINS, **options}.items()]
        clean = {name: value for name, value in os.environ.items()
                 if not name.startswith(("OMPI_", "PMI", "SLURM_", "MASTER_")) and name not in ("RANK", "WORLD_SIZE")}
        job = subprocess.Popen([*before, PROGRAM, *words], env={**clean, **(environment or {})}, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(self.end, job)
        return job

    def end(self, job):
        if job.poll() is None:
            job.kill()
            job.wait()
        job.stdout.close()
        job.stderr.close()

    def launched(self, rank, ranks, port, host="127.0.0.1", before=(), **options):
        """As torchrun would: MASTER_PORT is the job's own, the sweep meets elsewhere."""
        return self.start(before, {"RANK": str(rank), "WORLD_SIZE": str(ranks), "LOCAL_RANK": str(rank),
                                   "MASTER_ADDR": host, "MASTER_PORT": "29500", "GSD_SWEEP_PORT": str(port)}, **options)

    def said(self, job):
        """Facts, samples, whether it was interrupted; fails the test when the program did."""
        output, errors = job.communicate(timeout=ONE_RUN_S)
        self.assertEqual(0, job.returncode, errors)
        lines = [json.loads(line) for line in output.splitlines()]
        facts = {line["fact"]: line["value"] for line in lines if "fact" in line}
        return facts, [line for line in lines if "op" in line], any("interrupted" in line for line in lines)

    def refused(self, job):
        output, errors = job.communicate(timeout=ONE_RUN_S)
        self.assertNotEqual(0, job.returncode, output)
        return errors

    def children_of(self, job, how_many):
        """The forked ranks, once they are there."""
        end = time.monotonic() + ONE_RUN_S
        while time.monotonic() < end:
            children = pathlib.Path("/proc/%d/task/%d/children" % (job.pid, job.pid)).read_text().split()
            if len(children) == how_many:
                return [int(pid) for pid in children]
            time.sleep(0.01)
        self.fail("the ranks were not forked")
        return []
