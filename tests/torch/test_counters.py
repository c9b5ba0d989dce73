#!/usr/bin/env python3
"""run --counters: what is counted begins with the first bucket's hook and ends before its first collective."""
import unittest

from support import observed


@observed.needs_library()
@observed.needs_torch()
class Order(observed.TestCase):
    def said(self, *arguments, **env):
        outcome = observed.run_job("counters_order", *arguments, ranks=1, recording=self.recording, **env)
        self.assertFinished(outcome)
        spool, = self.recording.spools()
        self.assertNotIn("hook.fault", spool.facts)
        self.assertEqual("applied", spool.facts.get("patch.ProcessGroup.allreduce", "applied"))
        return outcome.outputs[0].strip().splitlines()[-1].split("; ")

    def test_of_the_first_bucket_until_its_collective(self):
        said = self.said("reduce", GSD_COUNTERS="dram__bytes.sum")
        self.assertEqual(["begin", "compress 0", "end", "issued"], said[:4])
        self.assertEqual(1, said.count("begin"))
        self.assertEqual(1, said.count("end"))
        self.assertIn("compress 1", said)

    def test_a_hook_without_a_collective_ends_it_by_returning(self):
        self.assertEqual(["begin", "compress 0", "issued", "end"],
                         self.said("silent", GSD_COUNTERS="dram__bytes.sum")[:4])

    def test_nothing_while_a_graph_is_captured(self):
        self.assertNotIn("begin", self.said("capturing", GSD_COUNTERS="dram__bytes.sum"))

    def test_nothing_when_nobody_asked(self):
        self.assertNotIn("begin", self.said("reduce"))


if __name__ == "__main__":
    unittest.main()
