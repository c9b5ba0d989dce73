#!/usr/bin/env python3
"""The C ABI as the hook calls it: the built-in functions write what ctypes writes, and refuse what it refuses."""
import ctypes
import os
import subprocess
import sys
import unittest

from support import observed

# argv: 1 to take the built-in functions, 0 for ctypes alone
PROGRAM = """
import ctypes, sys
sys.path.insert(0, %r)
from gradsync_hook import transport
if sys.argv[1] == "0":
    transport.builtin_calls = lambda library: {}
import os
library = transport.Library(os.environ["GSD_LIBRARY"])
library.begin_process()
what = 5 | 2 << 8 | library.string("a range") << 32
most = 2 ** 64 - 1
library.end(library.begin(what, most, most))
event = library.event(what, 2 ** 40 + 1, 7 | 9 << 32, 2 ** 53 + 1, 2 ** 53 + 2)
library.link(event, 2 ** 63 + 5)
library.attr_int(event, library.elements, -5)
library.attr_int(event, library.compute_end, 2 ** 62)
library.attr_str(event, library.site, library.string("train.py:1"))
refused = []
for call in (library.begin, library.end, library.event, library.link, library.attr_int, library.attr_str):
    for wrong in ("text", None):
        try:
            call(*[wrong] * {library.event: 5, library.end: 1, library.link: 2}.get(call, 3))
        except (TypeError, ctypes.ArgumentError):
            refused.append(wrong)
library.end(0)
library.attr_int(0, library.elements, 1)
print(len(refused), type(library.begin).__name__)
library.goodbye()
"""


@observed.needs_library()
@unittest.skipIf(sys.version_info < (3, 7), "built-in functions with this calling convention came with Python 3.7")
class Calls(unittest.TestCase):
    def recorded(self, builtin):
        recording = observed.Recording()
        self.addCleanup(recording.remove)
        done = subprocess.run([sys.executable, "-c", PROGRAM % observed.SHIM, str(int(builtin))],
                              env=dict(os.environ, GSD_RECORDING=recording.folder, GSD_LIBRARY=observed.LIBRARY),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(0, done.returncode, done.stderr.decode())
        self.assertEqual(1, len(recording.spools()))
        return done.stdout.decode().split(), recording.spools()[0]

    def test_both_ways_write_the_same(self):
        seen = {}
        for builtin in (True, False):
            (refused, kind), spool = self.recorded(builtin)
            self.assertEqual("12", refused, "every call refuses text and None")
            self.assertEqual(builtin, kind == "builtin_function_or_method")
            ranges = {event.bytes: event for event in spool.of("range", "a range")}
            self.assertEqual({2 ** 64 - 1, 2 ** 40 + 1}, set(ranges))
            whole = ranges[2 ** 40 + 1]
            self.assertEqual((2 ** 53 + 1, 2 ** 53 + 2, 9, 2 ** 63 + 5),
                             (whole.start, whole.end, whole.sequence, whole.correlation))
            self.assertEqual({"elements": -5, "compute_end_ns": 2 ** 62, "site": "train.py:1"}, whole.attributes)
            open_and_shut = ranges[2 ** 64 - 1]
            self.assertLess(0, open_and_shut.start)
            self.assertLessEqual(open_and_shut.start, open_and_shut.end)
            seen[builtin] = [(event.kind, event.name, event.bytes, event.attributes) for event in spool.events]
        self.assertEqual(seen[True], seen[False])

    def test_the_jobs_own_view_of_the_interpreter_is_untouched(self):
        sys.path.insert(0, observed.SHIM)
        from gradsync_hook.builtin_calls import builtin_calls
        before = ctypes.pythonapi.PyCFunction_NewEx.restype, ctypes.pythonapi.PyCFunction_NewEx.argtypes
        calls = builtin_calls(ctypes.PyDLL(observed.LIBRARY))
        self.assertEqual({"begin", "end", "event", "link", "attr_int", "attr_str"}, set(calls))
        self.assertEqual(before, (ctypes.pythonapi.PyCFunction_NewEx.restype,
                                  ctypes.pythonapi.PyCFunction_NewEx.argtypes))

    def test_a_call_with_missing_arguments_is_harmless(self):
        sys.path.insert(0, observed.SHIM)
        from gradsync_hook.builtin_calls import builtin_calls
        for call in builtin_calls(ctypes.PyDLL(observed.LIBRARY)).values():
            self.assertEqual(0, call())


if __name__ == "__main__":
    unittest.main()
