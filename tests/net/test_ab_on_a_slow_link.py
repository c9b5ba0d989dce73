#!/usr/bin/env python3
"""run --ab with a rank in each of two namespaces, over 5 Mbit/s: there compression must win, whatever the CPU.

Dense, a step sends 0.6 MB, which take a second; the Top-K hook sends a sixteenth of that and selects among few.
"""
import unittest

from lab import PYTHON, ROOT, TWO_HOSTS, TestCase


class SlowLink(TestCase):
    def test_compression_saves(self):
        self.need_torch()
        report, done = self.measured("--ab", "--", PYTHON, TWO_HOSTS, "--rate", "5mbit", ROOT / "samples/ddp_topk_hook.py",
                                     "--steps", "280", "--width", "160")
        values = {metric["name"]: metric for metric in report["metrics"] if metric["scope"] == "all"}
        self.assertEqual("between network namespaces of one host", report["facts"]["ab.network"])
        self.assertEqual("saves", report["facts"]["ab.answer"], done.stdout)
        self.assertEqual(("saves", True), (report["verdict"]["sign"], report["verdict"]["measured"]))
        self.assertLess(values["measured.no_compression.saved_ms"]["p90"], 0)
        self.assertLess(values["ab.with_bytes"]["value"], values["ab.without_bytes"]["value"] / 10)
        self.assertNotIn("ab.one_host", report["facts"])


if __name__ == "__main__":
    unittest.main()
