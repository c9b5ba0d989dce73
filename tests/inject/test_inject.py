#!/usr/bin/env python3
"""Runs NVTX clients under libgradsync_inject.so and reads what they leave behind.

usage: test_inject.py [unittest arguments]

environment: GSD_TEST_LIBRARY   the library
             GSD_TEST_PROGRAMS  folder of nvtx_client, libnvtx_client_a.so and _b.so, libnext_tool.so, nccl_client and,
                                where the vendor's headers are, nvtx3_client
             GSD_TEST_NCCL      a libnccl.so.2; otherwise the usual places are searched
"""

import glob
import os
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from spool import EXTRAPOLATED, spools_of

LIBRARY = os.environ.get("GSD_TEST_LIBRARY", "")
PROGRAMS = Path(os.environ.get("GSD_TEST_PROGRAMS", "."))


def find_nccl():
    patterns = [os.environ.get("GSD_TEST_NCCL", ""), "/usr/local/cuda*/lib*/libnccl.so.2", "/usr/lib/*/libnccl.so.2",
                *(path + "/nvidia/nccl/lib/libnccl.so.2" for path in sys.path if path),
                "/opt/*/lib/python3*/site-packages/nvidia/nccl/lib/libnccl.so.2"]  # fmt: skip
    found = {os.path.realpath(file): file for pattern in patterns for file in sorted(glob.glob(pattern))}
    return list(found.values())


def float_of(bits):
    return struct.unpack("<d", struct.pack("<q", bits))[0]


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gsd-inject-")
        self.addCleanup(folder.cleanup)
        self.recording = Path(folder.name)
        (self.recording / "events").mkdir()
        self.log = self.recording / "next_tool.log"

    def run_client(self, *command, record=True, next_tool=None, **more):
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("GSD_", "NVTX_", "NCCL_"))}
        # What is preloaded comes before the sanitizer's own library; jobs end with what they have.
        environment["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0:verify_asan_link_order=0"
        environment.update(NVTX_INJECTION64_PATH=LIBRARY, NEXT_TOOL_LOG=str(self.log), **more)
        if record:
            environment["GSD_RECORDING"] = str(self.recording)
        if next_tool:
            environment["GSD_NEXT_NVTX"] = str(next_tool)
        command = [str(PROGRAMS / command[0]), *map(str, command[1:])]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
        self.assertEqual((done.returncode, done.stderr), (0, ""), f"{command}\n{done.stdout}")
        return done.stdout

    def only_spool(self):
        spools = spools_of(self.recording)
        self.assertEqual(len(spools), 1)
        return spools[0]


class Nvtx(Case):
    def test_plain(self):
        out = self.run_client("nvtx_client", "plain")
        self.assertIn("attached 1\n", out)
        self.assertIn("pop without push: negative", out)
        self.assertIn("levels 0 1", out)
        spool = self.only_spool()
        outer, inner = spool.named("outer"), spool.named("inner")
        self.assertTrue(outer.start <= inner.start <= inner.end <= outer.end)
        for event in (outer, inner):
            self.assertEqual((event.kind, event.source, event.flags, event.attributes), ("range", "nvtx", 0, {}))
        mark = spool.named("a mark")
        self.assertEqual((mark.kind, mark.start), ("mark", mark.end))
        self.assertEqual(spool.named("a wide mark €").kind, "mark")
        first, second = spool.named("started first"), spool.named("started second")
        self.assertTrue(first.start <= second.start <= first.end <= second.end)
        for name in ("with attributes", "pushed wide", "step 0", "step 1", "step 2"):
            self.assertGreater(spool.named(name).end, 0, name)
        self.assertEqual(spool.named("never popped").end, 0)
        self.assertEqual(spool.header["nvtx_inits"], 1)
        self.assertEqual(spool.header["exited_cleanly"], 1)

    def test_domains_strings_categories_payloads(self):
        self.run_client("nvtx_client", "domains")
        spool = self.only_spool()
        registered, other = spool.named("registered text"), spool.named("in the other")
        self.assertEqual(registered.attributes, {"domain": "library", "category": "input", "payload": 99})
        self.assertEqual(other.attributes, {"domain": "other library", "category": 8, "payload": -5})
        self.assertTrue(registered.end <= other.end)
        self.assertEqual(float_of(spool.named("half").attributes["payload.float64"]), 0.5)
        self.assertGreater(spool.named("started").end, 0)
        self.assertEqual(spool.named("default domain by handle").attributes, {})

    def test_extended_payloads_of_both_versions(self):
        for version in ("payload103", "payload104"):
            with self.subTest(version):
                self.setUp()
                out = self.run_client("nvtx_client", version)
                self.assertIn("ids enum dynamic kept", out)
                spool = self.only_spool()
                for name in ("dynamic schema", "static schema"):
                    attributes = spool.named(name).attributes
                    self.assertEqual(float_of(attributes.pop("payload.ratio.float64")), 0.25)
                    self.assertEqual(attributes, {"domain": "payloads", "payload.count": -3, "payload.bytes": 1 << 30,
                                                  "payload.color": "green"})  # fmt: skip
                self.assertEqual(spool.named("short payload").attributes, {"domain": "payloads", "payload.count": -3})
                self.assertEqual(spool.named("unknown schema").attributes, {"domain": "payloads"})

    def test_payload_version_that_nobody_knows_is_refused_and_ranges_still_come(self):
        out = self.run_client("nvtx_client", "payload999")
        self.assertIn("payload extension refused", out)
        self.assertEqual(self.only_spool().named("dynamic schema").attributes, {"domain": "payloads"})

    def test_nccl_layout(self):
        self.run_client("nvtx_client", "nccl")
        spool = self.only_spool()
        reduces = [event for event in spool.events if event.name == "all_reduce"]
        self.assertEqual([event.sequence for event in reduces], [0, 1, 2])
        for event in reduces:
            self.assertEqual((event.kind, event.source, event.flags), ("collective", "nccl_nvtx", EXTRAPOLATED))
            self.assertEqual((event.bytes, event.group), (4 << 20, "00c0ffee12345678"))
            self.assertEqual(event.attributes, {"op": "sum"})
        scatter = spool.named("reduce_scatter")
        self.assertEqual((scatter.kind, scatter.bytes, scatter.group), ("collective", 0, ""))
        end = spool.named("ncclGroupEnd")
        self.assertEqual((end.kind, end.source, end.attributes), ("range", "nccl_nvtx", {}))

    def test_deeper_than_the_stack(self):
        self.run_client("nvtx_client", "deep")
        spool = self.only_spool()
        kept = [event for event in spool.events if event.name == "deep"]
        self.assertEqual(len(kept), 300)
        self.assertEqual(sum(event.end > 0 for event in kept), 128)
        self.assertGreater(spool.named("after").end, 0)

    def test_two_client_libraries(self):
        libraries = [PROGRAMS / f"libnvtx_client_{name}.so" for name in "ab"]
        self.run_client("nvtx_client", "domains", *libraries)
        spool = self.only_spool()
        self.assertEqual(spool.header["nvtx_inits"], 2)
        self.assertEqual(sum(event.name == "registered text" for event in spool.events), 2)

    def test_fork(self):
        self.run_client("nvtx_client", "fork")
        spools = spools_of(self.recording)
        self.assertEqual(len(spools), 2)
        child, parent = sorted(spools, key=lambda spool: spool.parent_pid == spools[0].pid, reverse=True)
        if parent.parent_pid == child.pid:
            child, parent = parent, child
        self.assertEqual([event.name for event in parent.events], ["pushed by parent"])
        self.assertGreater(parent.events[0].end, 0)
        self.assertEqual([event.name for event in child.events], ["registered before fork"])
        self.assertEqual(child.events[0].attributes, {"domain": "shared"})
        self.assertEqual(child.parent_pid, parent.pid)

    def test_nothing_to_record(self):
        self.assertIn("attached 0", self.run_client("nvtx_client", "plain", record=False))
        self.assertEqual(spools_of(self.recording), [])

    def test_preloaded_into_a_program_without_nvtx(self):
        self.run_client("/bin/true", LD_PRELOAD=LIBRARY)
        self.assertEqual(list((self.recording / "events").iterdir()), [])

    def test_client_compiled_with_the_vendors_headers(self):
        if not (PROGRAMS / "nvtx3_client").exists():
            self.skipTest("no <nvtx3/nvToolsExtPayload.h> when this was built")
        self.run_client("nvtx3_client")
        spool = self.only_spool()
        self.assertEqual(spool.named("registered text").attributes,
                         {"domain": "library", "category": "input", "payload": 99})  # fmt: skip
        self.assertEqual(spool.named("with payload").attributes,
                         {"domain": "library", "payload.count": -3, "payload.bytes": 4096})  # fmt: skip
        self.assertEqual({event.name for event in spool.events},
                         {"outer", "a mark", "started", "registered text", "with payload"})  # fmt: skip


class Chain(Case):
    NEXT = PROGRAMS / "libnext_tool.so"

    def seen_by_next(self):
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        self.assertFalse([line for line in lines if "FOREIGN" in line], lines)
        return lines

    def test_both_tools_see_everything(self):
        out = self.run_client("nvtx_client", "plain", next_tool=self.NEXT)
        self.assertIn("levels 40 40", out)  # the next tool's answers reach the job
        self.assertIn("pop without push: not negative", out)
        lines = self.seen_by_next()
        self.assertEqual(lines[0], "attach")
        for line in ("push outer", "push inner", "mark a mark", "start started first", "push step 2"):
            self.assertIn(line, lines)
        self.assertEqual(lines.count("end mine"), 1)  # it takes no wide strings, so that range's id is ours
        spool = self.only_spool()
        for name in ("outer", "inner", "a mark", "started first", "started second", "pushed wide", "step 2"):
            self.assertGreater(spool.named(name).end, 0, name)

    def test_the_job_holds_the_next_tools_handles(self):
        self.run_client("nvtx_client", "domains", next_tool=self.NEXT)
        lines = self.seen_by_next()
        for line in ("domain library", "string library registered text", "push library registered text",
                     "push other library in the other", "pop library", "pop other library", "mark library half",
                     "start library started", "end library mine", "destroy other library",
                     "push - default domain by handle"):  # fmt: skip
            self.assertIn(line, lines)
        spool = self.only_spool()
        self.assertEqual(spool.named("registered text").attributes,
                         {"domain": "library", "category": "input", "payload": 99})  # fmt: skip
        self.assertEqual(spool.named("in the other").attributes["domain"], "other library")
        self.assertGreater(spool.named("started").end, 0)

    def test_a_next_tool_that_takes_only_a_part(self):
        self.run_client("nvtx_client", "domains", next_tool=self.NEXT, NEXT_TOOL_GAPS="1")
        lines = self.seen_by_next()
        self.assertIn("push library -", lines)  # the string handle was ours: it gets none
        self.assertFalse([line for line in lines if line.startswith(("start", "end", "string"))])
        spool = self.only_spool()
        self.assertEqual(spool.named("registered text").attributes["domain"], "library")
        self.assertGreater(spool.named("started").end, 0)

    def test_payload_schemas_are_passed_on(self):
        for version in ("payload103", "payload104"):
            with self.subTest(version):
                self.setUp()
                self.run_client("nvtx_client", version, next_tool=self.NEXT)
                lines = self.seen_by_next()
                self.assertIn("attach payload", lines)
                self.assertEqual(lines.count("schema payloads mine"), 2)
                spool = self.only_spool()
                for name in ("dynamic schema", "static schema"):
                    self.assertEqual(spool.named(name).attributes["payload.bytes"], 1 << 30)

    def test_two_clients_and_a_next_tool(self):
        libraries = [PROGRAMS / f"libnvtx_client_{name}.so" for name in "ab"]
        self.run_client("nvtx_client", "domains", *libraries, next_tool=self.NEXT)
        lines = self.seen_by_next()
        self.assertEqual(lines.count("attach"), 2)
        self.assertEqual(lines.count("push library registered text"), 2)
        self.assertEqual(sum(event.name == "registered text" for event in self.only_spool().events), 2)

    def test_without_a_recording_the_next_tool_has_the_client_alone(self):
        out = self.run_client("nvtx_client", "plain", next_tool=self.NEXT, record=False)
        self.assertIn("attached 1", out)
        self.assertIn("push outer", self.seen_by_next())
        self.assertEqual(spools_of(self.recording), [])

    def test_a_next_tool_that_is_not_there_or_is_ourselves(self):
        for next_tool in ("/nowhere/libtool.so", LIBRARY):
            with self.subTest(next_tool):
                self.setUp()
                self.run_client("nvtx_client", "domains", next_tool=next_tool)
                self.assertEqual(self.only_spool().named("registered text").attributes["payload"], 99)

    def test_fork_with_a_next_tool(self):
        self.run_client("nvtx_client", "fork", next_tool=self.NEXT)
        self.assertEqual(len(spools_of(self.recording)), 2)
        self.assertEqual(self.seen_by_next().count("push shared registered before fork"), 1)


class Nccl(Case):
    """The real library, called without a communicator."""

    EXPECTED = [("all_reduce", 4096), ("broadcast", 40), ("reduce_scatter", 400), ("all_gather", 132)]

    def test_operations_and_bytes(self):
        libraries = find_nccl()
        if not libraries:
            self.skipTest("no libnccl.so.2 in GSD_TEST_NCCL, the CUDA folders or Python's nvidia packages")
        for library in libraries:
            with self.subTest(library):
                self.setUp()
                out = self.run_client("nccl_client", library)
                version = int(out.split()[1])
                if version < 21600:
                    self.skipTest(f"{library} is NCCL {version}: no payloads before 2.16")
                spool = self.only_spool()
                collectives = [event for event in spool.events if event.kind == "collective"]
                self.assertEqual([(event.name, event.bytes) for event in collectives], self.EXPECTED * 2)
                for event in collectives:
                    self.assertEqual((event.source, event.flags), ("nccl_nvtx", EXTRAPOLATED))
                    self.assertGreaterEqual(event.end, event.start)
                self.assertEqual(collectives[0].attributes, {"op": "sum"})
                self.assertEqual(collectives[2].attributes, {"op": "max"})
                self.assertEqual(collectives[3].attributes, {})

    def test_with_a_next_tool(self):
        libraries = find_nccl()
        if not libraries:
            self.skipTest("no libnccl.so.2 in GSD_TEST_NCCL, the CUDA folders or Python's nvidia packages")
        self.run_client("nccl_client", libraries[0], next_tool=PROGRAMS / "libnext_tool.so")
        spool = self.only_spool()
        collectives = [event for event in spool.events if event.kind == "collective"]
        self.assertEqual([(event.name, event.bytes) for event in collectives], self.EXPECTED * 2)
        self.assertIn("push NCCL ncclAllReduce", self.log.read_text().splitlines())

    def test_cupti_as_the_next_tool(self):
        found = glob.glob("/usr/local/cuda*/lib64/libcupti.so.1[0-9]") + glob.glob("/usr/local/cuda*/extras/CUPTI/lib64/libcupti.so.1[0-9]")
        if not found:
            self.skipTest("no libcupti.so in /usr/local/cuda*")
        self.run_client("nvtx_client", "domains", next_tool=found[0])
        self.assertEqual(self.only_spool().named("registered text").attributes["payload"], 99)


if __name__ == "__main__":
    unittest.main()
