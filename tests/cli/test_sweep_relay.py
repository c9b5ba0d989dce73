#!/usr/bin/env python3
"""A relay between two ranks holds back messages of 32 to 64 KiB: sweep finds a cliff there and nowhere else."""
import json
import os
import pathlib
import socket
import subprocess
import sys
import unittest

import doctor
import recompute_sweep
from test_sweep import needs_gloo

sys.path.insert(0, str(doctor.ROOT / "tests/fabric"))
import relay  # noqa: E402

NAMESPACES = tuple("gsdcli%d-%d" % (os.getpid(), rank) for rank in (0, 1))
DELAY_MS = 60  # above what a delayed acknowledgement costs


@needs_gloo
class Relayed(doctor.TestCase):
    def setUp(self):
        super().setUp()
        relay.namespaces_or_skip(self, NAMESPACES)

    def start(self, rank, port):
        return subprocess.Popen(
            ["ip", "netns", "exec", NAMESPACES[rank], doctor.PROGRAM, "sweep", "--interface", relay.INTERFACE, "--op", "send_recv",
             "--min", "4K", "--max", "512K", "--max-time", "90s", "--no-save", "--json", self.folder / ("%d.json" % rank)],
            env=self.environment(RANK=str(rank), WORLD_SIZE="2", LOCAL_RANK="0", MASTER_ADDR=relay.ADDRESSES[0], MASTER_PORT="1",
                                 GSD_SWEEP_PORT=str(port)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def test_a_cliff_there_and_nowhere_else(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        between = subprocess.Popen([sys.executable, relay.__file__, "--store-port", str(port), "--delay-ms", str(DELAY_MS), "--from",
                                    "32768", "--to", "65536", *NAMESPACES], stdout=subprocess.PIPE, text=True)
        self.addCleanup(between.stdout.close)
        self.addCleanup(between.wait)
        self.addCleanup(between.kill)
        self.assertEqual("ready\n", between.stdout.readline())
        ranks = [self.start(rank, port) for rank in (0, 1)]
        (shown, errors), follower = [rank.communicate(timeout=250) for rank in ranks]
        self.assertEqual([0, 0], [rank.returncode for rank in ranks], errors + follower[1])
        self.assertEqual(("", ""), follower)
        self.assertFalse(pathlib.Path(self.folder / "1.json").exists())
        report = json.loads((self.folder / "0.json").read_text())
        said, wrong = recompute_sweep.check(report)
        self.assertEqual([], wrong)
        cliffs = [(row["from_bytes"], row["to_bytes"]) for row in recompute_sweep.rows_of(report, "fabric_cliffs")
                  if row["answer"] == "cliff"]
        self.assertEqual([(16384, 32768)], cliffs, shown + "\n".join(said))


if __name__ == "__main__":
    unittest.main()
