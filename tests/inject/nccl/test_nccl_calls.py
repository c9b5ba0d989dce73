#!/usr/bin/env python3
"""Calls of NCCL, in jobs that use a stand-in for libnccl: LD_PRELOAD wrappers, alone and around NCCL's own NVTX ranges; times
of the device; and the wrappers around a real library.

usage: test_nccl_calls.py [unittest arguments]

environment: see nccl_case.py
             GSD_TEST_NCCL      a real libnccl.so.2; otherwise the usual places are searched
"""

import unittest
from pathlib import Path

from nccl_case import CALLS, JOB_A, JOB_B, LIBRARY, NCCL, NcclCase
from spool import EXTRAPOLATED, spools_of
from test_inject import find_nccl

DURATION = 5200


class Wrappers(NcclCase):
    def check_calls(self, events):
        self.assertEqual([(e.name, e.bytes, e.attributes["dtype"], e.attributes.get("op")) for e in events], CALLS)
        for event in events:
            self.assertEqual((event.source, event.flags), ("nccl_wrapper", EXTRAPOLATED))
            self.assertGreaterEqual(event.end, event.start)
            self.assertGreater(event.start, 0)
        first, split = events[0].group, events[-1].group
        self.assertRegex(first, "^[0-9a-f]{16}$")
        self.assertEqual({event.group for event in events[:-1]}, {first})
        self.assertNotIn(split, (first, ""))
        # Sends and receives have no order that all ranks share.
        self.assertEqual([event.sequence for event in events], [0, 1, 2, 3, 4, 5, 0, 0, 0])

    def test_a_library_opened_rtld_local(self):
        out = self.run_job("calls")
        self.check_calls(self.collectives())
        self.assertEqual(out.count("a nccl"), len(CALLS))

    def test_a_program_linked_with_nccl(self):
        self.run_client(NCCL / "nccl_program", "calls", LD_PRELOAD=LIBRARY)
        self.check_calls(self.collectives())

    def test_ranks_agree_on_the_names_of_communicators(self):
        for _ in range(2):
            self.run_job("calls")
        one, other = (self.collectives(spool) for spool in spools_of(self.recording))
        self.assertEqual([event.group for event in one], [event.group for event in other])

    def test_a_communicator_made_from_several_ids(self):
        self.run_job("scalable")
        several, one = self.collectives()
        self.assertRegex(several.group, "^[0-9a-f]{16}$")
        self.assertNotEqual(several.group, one.group)
        self.assertEqual((several.sequence, one.sequence), (0, 0))

    def test_two_nccls_in_one_process(self):
        out = self.run_job("calls", JOB_A, JOB_B)
        self.assertEqual((out.count("a nccl"), out.count("b nccl")), (len(CALLS), len(CALLS)))
        self.assertEqual(len(self.collectives()), 2 * len(CALLS))

    def test_a_call_inside_a_call_is_one_event(self):
        out = self.run_job("nested")
        self.assertEqual(out.split("\n")[:2], ["a ncclBroadcast", "a ncclAlltoAll"])
        self.assertEqual([(e.name, e.bytes) for e in self.collectives()], [("broadcast", 20), ("all_to_all", 24)])

    def test_threads(self):
        self.run_job("threads", STAND_IN_QUIET="1")
        events = self.collectives()
        self.assertEqual(len(events), 800)
        for number in range(4):
            mine = [event for event in events if event.bytes == 4 * (100 + number)]
            self.assertEqual((len(mine), len({event.group for event in mine})), (200, 1))
            self.assertEqual(sorted(event.sequence for event in mine), list(range(200)))

    def test_fork(self):
        self.run_job("fork")
        child, parent = sorted((self.collectives(spool) for spool in spools_of(self.recording)), key=len)
        self.assertEqual([event.bytes for event in parent], [4, 12])
        self.assertEqual([event.bytes for event in child], [8])
        self.assertEqual(parent[0].group, child[0].group)

    def test_an_error_is_told_and_returned(self):
        self.run_job("nested", STAND_IN_REFUSES="5")
        self.assertEqual([event.attributes.get("result") for event in self.collectives()], [5, 5])

    def test_without_a_recording_calls_go_through(self):
        out = self.run_job("calls", record=False)
        self.assertEqual(out.count("a nccl"), len(CALLS))
        self.assertEqual(spools_of(self.recording), [])

    def test_without_the_preload_nothing_is_wrapped(self):
        self.run_job("calls", preload=False)
        self.assertEqual(spools_of(self.recording), [])


class Ranges(NcclCase):
    """NCCL's own NVTX range inside the wrapper: one event, from the better source."""

    def test_the_payload_is_taken_and_the_rest_kept(self):
        self.run_job("calls", nvtx="full")
        events = self.collectives()
        self.assertEqual([(e.name, e.bytes, e.attributes["dtype"], e.attributes.get("op")) for e in events], CALLS)
        self.assertEqual({event.source for event in events}, {"nccl_nvtx"})
        self.assertEqual(len({event.group for event in events}), 2)
        self.assertEqual([event.sequence for event in events], [0, 1, 2, 3, 4, 5, 0, 0, 0])

    def test_a_payload_without_communicator_leaves_the_wrappers_name(self):
        self.run_job("calls", nvtx="sizes")
        events = self.collectives()
        self.assertEqual([(e.name, e.bytes) for e in events], [call[:2] for call in CALLS])
        self.assertEqual({event.source for event in events}, {"nccl_nvtx"})
        self.assertRegex(events[0].group, "^[0-9a-f]{16}$")

    def test_a_range_without_payload_leaves_the_wrappers_bytes(self):
        self.run_job("calls", nvtx="names")
        events = self.collectives()
        self.assertEqual([(e.name, e.bytes) for e in events], [call[:2] for call in CALLS])
        self.assertEqual({event.source for event in events}, {"nccl_wrapper"})

    def test_a_call_inside_a_call_is_one_event(self):
        self.run_job("nested", nvtx="full")
        self.assertEqual([(e.name, e.bytes) for e in self.collectives()], [("broadcast", 20), ("all_to_all", 24)])


class Times(NcclCase):
    """CUDA events around the call, by a driver whose pairs are all 5.2 us apart."""

    DRIVER = str(NCCL.parent / "fake_driver" / "libcuda.so.1")

    def timed(self, **more):
        self.run_job("timed", preload=False, LD_PRELOAD=f"{LIBRARY}:{self.DRIVER}", STAND_IN_QUIET="1", **more)
        events = self.collectives()
        told = {}
        for event in events:
            told.setdefault(event.bytes, []).append(event.attributes.get("gpu_ns"))
            self.assertEqual("gpu_ns" in event.attributes, event.attributes.get("gpu_ns_from") == "cuda_events")
        return told

    def test_calls_alone_and_in_a_group_of_their_own(self):
        told = self.timed(events="times")
        self.assertEqual(1220, len(told[400]))
        self.assertEqual({DURATION}, set(told[400][:20]))
        self.assertEqual({DURATION, None}, set(told[400]))  # the last ones stay unread
        self.assertEqual([DURATION], told[404])         # closed by ncclGroupEnd
        self.assertEqual([None, None], told[408])       # two kernels of one group
        self.assertEqual([None, None], told[412])       # the default stream; one that cannot be recorded on

    def test_nothing_unless_asked_for_and_never_while_capturing(self):
        self.assertEqual({None}, {value for values in self.timed().values() for value in values})
        self.setUp()
        self.assertEqual({None}, {value for values in self.timed(events="times", FAKE_CUDA_CAPTURING="1").values()
                                  for value in values})  # fmt: skip

    def test_without_a_driver_in_the_process(self):
        self.run_job("timed", events="times", STAND_IN_QUIET="1")
        self.assertEqual({None}, {event.attributes.get("gpu_ns") for event in self.collectives()})


class Real(NcclCase):
    """The real library in the place of the stand-in, called without a communicator."""

    def test_wrappers_reach_it_and_its_ranges_refine_them(self):
        libraries = find_nccl()
        if not libraries:
            self.skipTest("no libnccl.so.2 in GSD_TEST_NCCL, the CUDA folders or Python's nvidia packages")
        for library in libraries:
            with self.subTest(library):
                self.setUp()
                out = self.run_job("without communicator", LD_LIBRARY_PATH=str(Path(library).parent))
                self.assertIn("answers 4 4 4\n", out)  # ncclInvalidArgument
                version = int(out.split()[1])
                events = self.collectives()
                self.assertEqual([(e.name, e.bytes) for e in events],
                                 [("all_reduce", 4096), ("all_gather", 132), ("broadcast", 40)])  # fmt: skip
                self.assertEqual([e.attributes["result"] for e in events], [4, 4, 4])
                self.assertEqual({e.source for e in events}, {"nccl_nvtx" if version >= 21600 else "nccl_wrapper"})
                self.assertEqual({e.attributes["dtype"] for e in events}, {"float32"})

    def test_it_looks_for_the_versions_that_we_export(self):
        for library in find_nccl():
            with self.subTest(library):
                content = Path(library).read_bytes()
                asked_for = [v for v in range(1, 8) if f"ncclProfiler_v{v}\0".encode() in content]
                self.assertTrue({5, 4} & set(asked_for) or not asked_for, asked_for)


if __name__ == "__main__":
    unittest.main()
