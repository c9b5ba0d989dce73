#!/usr/bin/env python3
"""The library as NCCL's profiler plug-in, in jobs that call a stand-in for libnccl; and what of a plug-in of the job's own.

usage: test_nccl_plugin.py [unittest arguments]; environment: see nccl_case.py
"""

import unittest

from nccl_case import CALLS, LIBRARY, NCCL, NcclCase
from spool import EXTRAPOLATED, spools_of

SMALL, LARGE = ("TREE", "LL", 2), ("RING", "SIMPLE", 4)
VERSIONS = range(1, 7)
COPIES = 4096  # collectives of the copy engines, from version 6 on


class Plugin(NcclCase):
    def test_every_version_tells_algorithm_protocol_and_channels(self):
        for version in VERSIONS:
            for nvtx, preload in (("full", False), ("sizes", False), ("", True), ("full", True)):
                with self.subTest(version=version, nvtx=nvtx, preload=preload):
                    self.setUp()
                    out = self.run_job("calls", preload=preload, plugin=version, nvtx=nvtx)
                    self.assertIn(f"mask {6 | COPIES * (version >= 6)}\n", out)
                    spool = self.only_spool()
                    self.assertEqual((spool.facts["nccl.plugin"], spool.facts["nccl.version"]),
                                     (f"v{version}", "2.28.9"))  # fmt: skip
                    events = self.collectives(spool)
                    self.assertEqual([(e.name, e.bytes) for e in events], [call[:2] for call in CALLS])
                    choices = self.choices(events)
                    self.assertEqual(choices[:6], [SMALL, LARGE, SMALL, SMALL, SMALL, SMALL])
                    self.assertEqual(choices[6], (None, None, 2 if version >= 4 else None))
                    self.assertEqual(choices[8], SMALL)
                    self.assertEqual({e.source for e in events}, {"nccl_nvtx" if nvtx else "nccl_wrapper"})

    def test_alone_it_reports_the_collectives_itself(self):
        for version in VERSIONS:
            with self.subTest(version=version):
                self.setUp()
                self.run_job("calls", preload=False, plugin=version)
                events = self.collectives()
                self.assertEqual([(e.name, e.bytes, e.attributes["dtype"]) for e in events],
                                 [call[:3] for call in CALLS])  # fmt: skip
                for event in events:
                    self.assertEqual((event.source, event.flags), ("nccl_plugin", EXTRAPOLATED))
                    self.assertGreaterEqual(event.end, event.start)
                    self.assertRegex(event.group, "^[0-9a-f]{16}$")
                self.assertEqual(self.choices(events[:2]), [SMALL, LARGE])

    def test_collectives_of_the_copy_engines(self):
        self.run_job("calls", preload=False, plugin=6, STAND_IN_COPY_ENGINE="1")
        alone = {event.name: event for event in self.collectives()}
        gather = alone["all_gather"]
        self.assertEqual((gather.source, gather.bytes, gather.attributes.get("copy_engine")),
                         ("nccl_plugin", dict((call[0], call[1]) for call in CALLS)["all_gather"], 1))  # fmt: skip
        self.assertNotIn("copy_engine", alone["all_reduce"].attributes)
        self.setUp()
        self.run_job("calls", preload=False, plugin=6, nvtx="full", STAND_IN_COPY_ENGINE="1")
        self.assertEqual([e.name for e in self.collectives() if "copy_engine" in e.attributes], ["all_gather"])

    def test_groups_are_matched_by_communicator_and_size(self):
        for version in VERSIONS:
            for launch in ("here", "thread"):
                with self.subTest(version=version, launch=launch):
                    self.setUp()
                    self.run_job("group", preload=False, plugin=version, nvtx="full", STAND_IN_LAUNCH=launch)
                    events = self.collectives()
                    self.assertEqual([event.bytes for event in events], [4000, 4000000, 4000, 4000])
                    self.assertEqual(self.choices(events), [SMALL, LARGE, SMALL, SMALL])
                    self.assertEqual({event.source for event in events}, {"nccl_nvtx"})

    def test_an_all_to_all_is_not_counted_again_as_sends(self):
        for nvtx, preload in (("full", False), ("", True)):
            with self.subTest(nvtx=nvtx):
                self.setUp()
                self.run_job("nested", preload=preload, plugin=5, nvtx=nvtx)
                self.assertEqual([e.name for e in self.collectives()], ["broadcast", "all_to_all"])

    def test_replays_of_a_graph_are_events_of_the_plugin(self):
        self.run_job("replays", preload=False, plugin=5, nvtx="full")
        self.assertEqual([(event.source, event.bytes) for event in self.collectives()],
                         [("nccl_nvtx", 8000), *[("nccl_plugin", 8000)] * 3])  # fmt: skip

    def test_threads(self):
        self.run_job("threads", preload=False, plugin=4, nvtx="full", STAND_IN_QUIET="1")
        told = [event for event in self.collectives() if event.source == "nccl_nvtx"]
        self.assertEqual(len(told), 800)
        # A thread that loses its CPU in the middle of a call finds it no longer among the last 256 of the others.
        lost = [event for event in self.collectives() if event.source != "nccl_nvtx"]
        self.assertLessEqual(len(lost), 8)
        self.assertGreaterEqual(self.choices(told).count(SMALL), 792)

    def test_more_events_than_handles(self):
        self.run_job("many", preload=False, plugin=5, nvtx="full", STAND_IN_QUIET="1")
        events = self.collectives()
        self.assertEqual(len(events), 20000)
        self.assertEqual(set(self.choices(events)), {SMALL})

    def test_more_communicators_than_it_keeps(self):
        self.run_job("communicators", preload=False, plugin=5, nvtx="full", STAND_IN_QUIET="1")
        spool = self.only_spool()
        first, last = self.collectives(spool)
        self.assertEqual(self.choices([first, last]), [SMALL, (None, None, None)])
        self.assertIn("more communicators", spool.facts["not_covered.nccl_plugin"])

    def test_fork(self):
        self.run_job("fork", preload=False, plugin=5, nvtx="full")
        child, parent = sorted((self.collectives(spool) for spool in spools_of(self.recording)), key=len)
        self.assertEqual((len(parent), len(child)), (2, 1))
        self.assertEqual(set(self.choices(parent)) | set(self.choices(child)), {SMALL})

    def test_kernel_channels_are_asked_for(self):
        for version in VERSIONS:
            with self.subTest(version=version):
                self.setUp()
                out = self.run_job("calls", preload=False, plugin=version, nvtx="full", events="kernels")
                self.assertIn(f"mask {70 | COPIES * (version >= 6)}\n", out)
                small, large = self.collectives()[:2]
                # From the first start to the last end: channels begin 10 ns and end 100 ns after each other.
                expected = [4100, 4300] if version >= 4 else [None, None]
                self.assertEqual([event.attributes.get("gpu_ns") for event in (small, large)], expected)
                if version >= 4:
                    self.assertEqual(small.attributes["gpu_ns_from"], "nccl_kernel_channels")

    def test_proxy_operations_are_asked_for(self):
        for version in VERSIONS:
            with self.subTest(version=version):
                self.setUp()
                out = self.run_job("nested", preload=False, plugin=version, nvtx="full", events="proxy")
                self.assertIn(f"mask {30 | COPIES * (version >= 6)}\n", out)
                spool = self.only_spool()
                broadcast = self.collectives(spool)[0]
                sends = [event for event in spool.events if event.name == "nccl.proxy_send"]
                self.assertEqual((sends[0].kind, sends[0].source, sends[0].bytes), ("range", "nccl_plugin", 4096))
                # One belongs to the collective, the other to a collective of another process.
                self.assertEqual([event.correlation for event in sends[:2]], [broadcast.index, 0])
                steps = [event for event in spool.events if event.name == "nccl.proxy_step"]
                self.assertEqual(steps[0].correlation, sends[0].index)
                self.assertEqual(len(steps), len(sends))

    def test_versions_that_crash_are_left_alone(self):
        out = self.run_job("calls", preload=False, plugin=5, nvtx="full", STAND_IN_VERSION="23003")
        self.assertIn("mask 0\n", out)
        spool = self.only_spool()
        self.assertEqual(set(self.choices(self.collectives(spool))), {(None, None, None)})
        self.assertIn("2.30.3", spool.facts["not_covered.nccl_plugin"])

    def test_only_what_is_denied_is_left_out(self):
        out = self.run_job("calls", preload=False, plugin=5, events="kernels,proxy", STAND_IN_VERSION="23102")
        self.assertIn("mask 30\n", out)
        self.assertIn("kernel events", self.only_spool().facts["not_covered.nccl_plugin"])

    def test_a_denied_event_that_nobody_asked_for_is_no_news(self):
        self.run_job("calls", preload=False, plugin=5, STAND_IN_VERSION="23102")
        self.assertNotIn("not_covered.nccl_plugin", self.only_spool().facts)

    def test_without_a_recording_it_wants_nothing(self):
        self.assertIn("mask 0\n", self.run_job("calls", preload=False, plugin=5, record=False))


class Chain(NcclCase):
    """The job's own plug-in sees what it would have seen, with its own handles and contexts."""

    def run_chained(self, plugin, versions, **more):
        log = self.recording / "next_plugin.log"
        next_plugin = NCCL / f"libnext_plugin_{versions}.so"
        out = self.run_job("group", preload=False, plugin=plugin, nvtx="full", GSD_NEXT_NCCL_PROFILER=str(next_plugin),
                           NEXT_PLUGIN_LOG=str(log), **more)  # fmt: skip
        lines = log.read_text().splitlines() if log.exists() else []
        self.assertFalse([line for line in lines if "FOREIGN" in line], lines)
        return out, lines

    def check_both(self, plugin, versions, greeting):
        out, lines = self.run_chained(plugin, versions)
        self.assertIn("mask 7\n", out)
        self.assertEqual(lines[0], greeting)
        self.assertIn("start 1 - parent none context next", lines)
        self.assertEqual(lines.count("start 2 AllReduce parent mine context next"), 4)
        self.assertEqual(lines.count("stop mine"), 5)
        self.assertEqual(lines.count("finalize next"), 2)
        self.assertEqual(self.choices(self.collectives()), [SMALL, LARGE, SMALL, SMALL])

    def test_version_2(self):
        self.check_both(2, "2", "init v2")

    def test_version_4(self):
        self.check_both(4, "4", "init v4 hash 1 ranks 2 rank 0")

    def test_version_5(self):
        self.check_both(5, "5", "init v5 hash 1 ranks 2 rank 0")

    def test_version_6(self):
        out, lines = self.run_chained(6, "56")
        self.assertIn("mask 4103\n", out)
        self.assertEqual(lines[0], "init v6 hash 1 ranks 2 rank 0")
        self.assertEqual(lines.count("start 2 AllReduce parent mine context next"), 4)

    def test_an_older_plugin_under_a_nccl_of_version_6(self):
        for versions, greeting in (("5", "init v5 hash 1 ranks 2 rank 0"), ("4", "init v4 hash 1 ranks 2 rank 0")):
            with self.subTest(versions):
                self.setUp()
                out, lines = self.run_chained(6, versions, STAND_IN_COPY_ENGINE="1")
                self.assertEqual(lines[0], greeting)
                self.assertEqual(lines.count("start 2 AllReduce parent mine context next"), 4)
                self.assertFalse([line for line in lines if line.startswith("start 4096")])

    def test_a_plugin_of_version_4_under_a_nccl_of_version_5(self):
        self.check_both(5, "4", "init v4 hash 1 ranks 2 rank 0")

    def test_a_plugin_that_lacks_the_version_is_left_out(self):
        out, lines = self.run_chained(3, "45")
        self.assertIn("mask 6\n", out)
        self.assertEqual(lines, [])

    def test_the_other_plugin_stays_where_ours_is_denied_or_has_nothing_to_record(self):
        for more in ({"STAND_IN_VERSION": "23003"}, {"record": False}):
            with self.subTest(more):
                self.setUp()
                out, lines = self.run_chained(5, "5", **more)
                self.assertIn("mask 7\n", out)
                self.assertEqual(lines.count("start 2 AllReduce parent mine context next"), 4)

    def test_ourselves_and_nothing(self):
        for value in (LIBRARY, "/nowhere/libplugin.so", "nobody", ""):
            with self.subTest(value):
                self.setUp()
                self.assertIn("mask 6\n", self.run_job("group", preload=False, plugin=5, GSD_NEXT_NCCL_PROFILER=value))

    def test_a_short_name(self):
        folder = self.recording / "lib"
        folder.mkdir()
        (folder / "libnccl-profiler-mine.so").symlink_to(NCCL / "libnext_plugin_5.so")
        log = self.recording / "next_plugin.log"
        self.run_job("group", preload=False, plugin=5, GSD_NEXT_NCCL_PROFILER="mine", NEXT_PLUGIN_LOG=str(log),
                     LD_LIBRARY_PATH=str(folder))  # fmt: skip
        self.assertIn("init v5 hash 1 ranks 2 rank 0", log.read_text())


if __name__ == "__main__":
    unittest.main()
