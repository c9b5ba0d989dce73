#!/usr/bin/env python3
"""whatif of a job with a rank in each of two namespaces, over 20 Mbit/s: before anything is tried it must say that leaving
out compression would cost. Dense, a step sends 0.6 MB, which take a quarter of a second; the job's step takes a tenth.

A sweep over loopback is newer and fits the job but for its interface: it must not be used.
"""
import json
import unittest

from lab import PYTHON, ROOT, TWO_HOSTS, TestCase, doctor

LINK = [PYTHON, TWO_HOSTS, "--rate", "20mbit"]


class SlowLink(TestCase):
    def test_the_sign_before_any_ab(self):
        self.need_torch()
        sweep = [doctor.PROGRAM, "sweep", "-q", "--op", "all_reduce", "--min", "64K", "--max", "512K"]
        done = self.call(*LINK, *sweep, "--max-time", "60s")
        if "kept for later runs" not in done.stderr or "not kept" in done.stderr:
            self.skipTest("the sweep was too restless to be kept: " + done.stderr.strip())
        self.call(*sweep, "--ranks", "2", "--max-time", "15s")
        recording, table = self.folder / "recording", self.folder / "whatif.json"
        self.call(doctor.PROGRAM, "run", "-q", "--deep", "off", "-o", recording, "--", *LINK,
                  ROOT / "samples/ddp_topk_hook.py", "--steps", "200", "--width", "160")
        self.call(doctor.PROGRAM, "whatif", recording, "--json", table)
        report = json.loads(table.read_text())
        self.assertIn("over gsdl0", report["facts"]["fabric.profile"])
        if report["facts"]["whatif"] == "disabled":
            self.skipTest("the steps were too restless: " + report["facts"]["whatif.why"])
        series = next(series for series in report["series"] if series["name"] == "whatif")
        row = next(row for row in (dict(zip(series["columns"], cells)) for cells in series["rows"])
                   if row["remedy"] == "no_compression")
        self.assertEqual("predicted", row["kind"], row)
        self.assertLess(row["p95"], 0, row)


if __name__ == "__main__":
    unittest.main()
