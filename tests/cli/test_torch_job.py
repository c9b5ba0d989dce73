#!/usr/bin/env python3
"""A real job on two ranks, one of them killed; its report against the schema, and drawn again."""
import json
import os
import unittest

import doctor

PYTHON = os.environ.get("GSD_TORCH_PYTHON")


@unittest.skipUnless(PYTHON, "no Python with torch was found (make test TORCH_PYTHON=/path/to/python)")
class KilledRank(doctor.TestCase):
    def test_the_report_names_it_and_can_be_drawn_again(self):
        recording = self.folder / "recording"
        report, done = self.run_job(PYTHON, str(doctor.ROOT / "samples/ddp_topk.py"), "--steps", "25", "--kill-rank-at", "16",
                                    options=("-o", recording))
        self.assertNotEqual(0, done.returncode)
        first = next(finding for finding in report["findings"] if finding["state"] == "fired")
        self.assertEqual(("rank-ended-early", "rank:1", "error"), (first["rule"], first["scope"], first["severity"]))
        self.assertIn("ended without a goodbye in step", report["facts"]["end.rank:1"])

        again = json.loads(self.doctor("show", "--json", "-", recording).stdout)
        self.assertEqual(report["findings"], again["findings"])
        self.assertEqual(report["metrics"], again["metrics"])
        drawn = self.doctor("show", self.folder / "report.json").stdout
        self.assertEqual(drawn, self.doctor("show", recording).stdout)

        once = self.doctor("show", "--json", "-", recording).stdout
        self.assertEqual(once, self.doctor("show", "--json", "-", recording).stdout)
        self.assertEqual(once, self.doctor("analyze", "--threads", "2", "--json", "-", recording).stdout)

        try:
            import jsonschema
        except ImportError:
            self.skipTest("python3-jsonschema is not installed")
        jsonschema.validate(report, json.loads((doctor.ROOT / "schema/report.schema.json").read_text()))


if __name__ == "__main__":
    unittest.main()
