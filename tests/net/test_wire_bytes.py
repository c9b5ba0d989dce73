#!/usr/bin/env python3
"""Two ranks under one doctor, each in a network namespace of its own: their bytes are those of these namespaces, whatever
passes through the doctor's own."""
import unittest

from lab import PYTHON, ROOT, TWO_HOSTS, TestCase


class WireBytes(TestCase):
    def test_of_the_ranks_namespaces(self):
        self.need_torch()
        # Nothing is dropped because the machine is busy, or the program slow under a sanitizer.
        job = (PYTHON, TWO_HOSTS, "--rate", "200mbit", ROOT / "samples/ddp_healthy.py", "--steps", "60")
        report, _ = self.measured("--budget", "100", "--", *job)
        values = {(metric["name"], metric["scope"]): metric["value"] for metric in report["metrics"]}
        spaces = report["facts"]["net_namespace"].removeprefix("mixed: ").split(", ")
        self.assertEqual(2, len(spaces), "a namespace for each rank")
        self.assertEqual("interfaces", report["facts"]["nic.path"])
        sent = {scope: value for (name, scope), value in values.items() if name == "nic.tx_bytes_per_step"}
        links = [scope for scope in sent if scope.startswith("device:gsdl")]
        self.assertEqual(set(spaces), {scope.split("@")[1] for scope in links}, sent)
        # Nothing is charged to a namespace in which no rank is, the doctor's own for example.
        self.assertTrue(all("@" in scope for scope in sent), sent)
        handed = values["comm.bytes_per_step", "all"]
        for scope in links:
            self.assertGreater(sent[scope], 0.8 * handed)  # the ends of the window may cut a step
            self.assertLess(sent[scope], 1.5 * handed)
        ratio = 200 * handed / sum(sent[scope] for scope in links)
        self.assertAlmostEqual(ratio, values["nic.effective_ratio_percent", "all"], places=6)
        for space in spaces:
            self.assertIn(("nic.retransmit_count", "device:tcp@" + space), values)
        self.assertNotIn(("nic.retransmit_count", "device:tcp"), values)


if __name__ == "__main__":
    unittest.main()
