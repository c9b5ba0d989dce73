#!/usr/bin/env python3
"""An observed training computes the same bits: parameters, buffers and momentum after 30 steps on two ranks."""
import unittest

from support import observed

CASES = "none,topk,fp16,powersgd"


@observed.needs_library()
@observed.needs_torch()
class Numerics(observed.TestCase):
    def digests(self, **how):
        outcome = observed.run_job("training", CASES, "30", LEAVE_AT_ONCE="1", **how)
        self.assertFinished(outcome)
        return [dict(line.split() for line in output.splitlines()) for output in outcome.outputs]

    def test_bits_are_the_same(self):
        # with everything on: events, done callbacks and a profiler window
        without = self.digests()
        observed_ = self.digests(recording=self.recording, GSD_DEEP="torch")
        self.assertEqual(CASES.split(","), list(without[0]))
        self.assertEqual(without, observed_)

        by_rank = self.recording.spools()
        self.assertEqual(2, len(by_rank))
        for spool in by_rank:
            self.assertNotIn("hook.fault", spool.facts)
            self.assertEqual(120, len(spool.of("range", phase="optimizer")))
            # the hooks did run under observation
            self.assertEqual(90, len(spool.of("range", phase="compress")))
            # ... and PowerSGD did compress: it sends its two factors from the fourth iteration on
            self.assertEqual("powersgd", spool.facts["hook.kind"])
        self.assertTrue(self.recording.windows())


if __name__ == "__main__":
    unittest.main()
