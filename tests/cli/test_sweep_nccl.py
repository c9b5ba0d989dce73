#!/usr/bin/env python3
"""sweep over NCCL, with a fake NCCL and CUDA runtime in place of theirs (tests/fabric/fake_nccl): no GPU is needed."""
import json
import os
import pathlib
import socket
import subprocess
import tempfile
import unittest

import doctor

FAKES = pathlib.Path(os.environ.get("GSD_FAKES", pathlib.Path(doctor.PROGRAM).parent / "tests/fabric/fake"))
WORDS = ["sweep", "--backend", "nccl", "--min", "4K", "--max", "128K", "--max-time", "20s", "--no-save"]
SLOW = {"GSD_FAKE_NCCL_SLOW": "16385-65536:3000"}  # the fake itself switches from LL to SIMPLE above 16 KiB


def with_fakes(more=()):
    return {**os.environ, "GSD_CUDART_LIBRARY": str(FAKES / "libcudart.so.13"), "GSD_NCCL_LIBRARY": str(FAKES / "libnccl.so.2"),
            **dict(more)}


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@unittest.skipUnless((FAKES / "libnccl.so.2").exists(), "the fakes were not built (GSD_FAKES)")
class NcclSweep(unittest.TestCase):
    def report(self, words, environment):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "report.json"
            result = subprocess.run([doctor.PROGRAM, *WORDS, *words, "--json", path], capture_output=True, text=True,
                                    env=environment, timeout=120)
            self.assertEqual(result.returncode, 0, result.stderr)
            return json.loads(path.read_text()), result.stdout

    def choices(self, report):
        series = [one for one in report["series"] if one["name"] == "nccl_choices"]
        if not series:
            return {}
        at = series[0]["columns"].index
        return {(row[at("operation")], row[at("bytes")]): row[at("protocol")] for row in series[0]["rows"]}

    def test_a_cliff_where_nccl_switches_is_a_tuning_cliff(self):
        report, text = self.report(["--ranks", "2"], with_fakes(SLOW))

        choices = self.choices(report)
        self.assertEqual(choices[("all_reduce", 16384)], "LL")
        self.assertEqual(choices[("all_reduce", 32768)], "SIMPLE")
        self.assertEqual(set(bytes for _, bytes in choices), {4096 << i for i in range(6)})
        self.assertIn("tuning-cliff", [one["rule"] for one in report["findings"] if one["state"] == "fired"])
        self.assertIn("where NCCL switches from RING/LL to RING/SIMPLE", " ".join(text.split()))
        [table] = [one for one in report["series"] if one["name"] == "sweep.all_reduce"]
        replayed = [row[table["columns"].index("graph_us")] for row in table["rows"]]
        self.assertTrue(all(us > 0 for us in replayed), replayed)
        self.assertRegex(text, r"time +graph +p99")

    def test_ranks_of_a_launcher_ask_as_well(self):
        place = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
        other = subprocess.Popen([doctor.PROGRAM, *WORDS], env=with_fakes({**place, "RANK": "1", "LOCAL_RANK": "1"}),
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(other.kill)
        self.addCleanup(other.stdout.close)
        self.addCleanup(other.stderr.close)
        report, _ = self.report([], with_fakes({**place, "RANK": "0", "LOCAL_RANK": "0"}))

        self.assertEqual(other.wait(timeout=60), 0)
        self.assertEqual(self.choices(report)[("all_reduce", 131072)], "SIMPLE")

    def test_where_nccl_does_not_tell_that_is_coverage(self):
        report, _ = self.report(["--ranks", "2", "--op", "send_recv"], with_fakes())

        self.assertEqual(self.choices(report), {})
        missing = [one for one in report["coverage"] if one["source"] == "NCCL's algorithm and protocol of each size"]
        self.assertEqual([(one["state"], one["reason"]) for one in missing], [("unavailable", "NCCL did not tell")])

    def test_nothing_of_the_pass_is_left(self):
        with tempfile.TemporaryDirectory() as folder:
            self.report(["--ranks", "2"], with_fakes({"TMPDIR": folder}))
            self.assertEqual(os.listdir(folder), [])


if __name__ == "__main__":
    unittest.main()
