#!/usr/bin/env python3
"""Programs that do unusual things with hooks, copies and errors see exactly what they see without us."""
import re
import unittest

from support import observed


def _without_numbers(texts):
    """Log lines carry times and process numbers, padded."""
    return [re.sub(r"[\d ]+", "#", text) for text in texts]


@observed.needs_library()
@observed.needs_torch()
class Wrapping(observed.TestCase):
    def test_every_case_prints_the_same(self):
        plain = observed.run_job("wrapping_cases", ranks=1)
        seen = observed.run_job("wrapping_cases", ranks=1, recording=self.recording)
        self.assertFinished(plain)
        self.maxDiff = None
        self.assertEqual(plain.outputs[0].splitlines(), seen.outputs[0].splitlines())
        self.assertEqual(_without_numbers(plain.errors), _without_numbers(seen.errors))
        self.assertIn("raising hook raised", plain.outputs[0])

        spool, = self.recording.spools()
        self.assertNotIn("hook.fault", spool.facts)
        # the last hook registered was the builtin one, after some that had to pass through unwrapped
        self.assertEqual("builtin:FP16_COMPRESS", spool.facts["hook.kind"])
        names = {event.name for event in spool.of("range", phase="compress")}
        self.assertLessEqual({"good_hook", "CallableHook.method", "raising_hook", "raising_callback"}, names)
        synchronised = [event.attributes.get("ddp_sync") for event in spool.of("range", phase="forward")]
        self.assertEqual([0, None], synchronised[-2:])   # inside no_sync(), and after it
        raising, = spool.of("range", "raising_hook")
        self.assertGreater(raising.end, 0)


if __name__ == "__main__":
    unittest.main()
