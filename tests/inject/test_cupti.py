#!/usr/bin/env python3
"""Runs jobs without a GPU under the CUPTI collector of libgradsync_inject.so and reads what they leave behind.

usage: test_cupti.py [unittest arguments]

environment: GSD_TEST_LIBRARY   the injected library
             GSD_TEST_PROGRAMS  folder of cupti_client, cudart_client, record_strides and the fakes
             GSD_TEST_CUPTI, GSD_TEST_CUDART   the vendor's libraries; otherwise the usual places are searched
"""

import glob
import os
import signal
import subprocess
import sys
import tempfile
import unittest
from collections import Counter
from pathlib import Path

from spool import spools_of

LIBRARY = os.environ.get("GSD_TEST_LIBRARY", "")
PROGRAMS = Path(os.environ.get("GSD_TEST_PROGRAMS", "."))
NOW, OLD = PROGRAMS / "cupti_now" / "libcupti.so.13", PROGRAMS / "cupti_old" / "libcupti.so.13"
GEMM = "_Z4gemmIfLi8EEvPKT_i"
NCCL = "_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE"
STREAM, HTOD_STREAM = 0x80000000 | 1 << 16 | 7, 0x80000000 | 1 << 16 | 8
VERSIONS = (17, 18, 28, 130001)


def find(variable, name):
    patterns = [os.environ.get(variable, ""), f"/usr/local/cuda*/lib64/{name}",
                *(f"{path}/nvidia/*/lib/{name}" for path in sys.path if path)]  # fmt: skip
    found = [file for pattern in patterns for file in sorted(glob.glob(pattern))]
    return found[0] if found else None


def strides_of(library, **more):
    out = subprocess.run([PROGRAMS / "record_strides", library], env={**os.environ, **more}, capture_output=True,
                         text=True, timeout=60, check=True)  # fmt: skip
    return dict((line.split()[0], int(line.split()[1])) for line in out.stdout.splitlines())


def losses_of(spool):
    """Each reason with all that was lost for it; each round of the reader tells its own."""
    losses = Counter()
    for event in spool.events:
        if event.kind == "loss":
            losses[event.name] += event.bytes
    return losses


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gsd-cupti-")
        self.addCleanup(folder.cleanup)
        self.recording = Path(folder.name)
        (self.recording / "events").mkdir()

    def start(self, *command, record=True, returns=0, watch="windows", **more):
        environment = {key: value for key, value in os.environ.items()
                       if not key.startswith(("GSD_", "NVTX_", "CUDA_", "NSYS_", "FAKE_"))}  # fmt: skip
        # A leak check at exit needs every thread stopped, and one of them is not the sanitizer's; what is preloaded comes
        # before its own library.
        environment["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0:verify_asan_link_order=0"
        environment.update(GSD_CUPTI=watch, **more)
        if record:
            environment["GSD_RECORDING"] = str(self.recording)
        done = subprocess.run(list(map(str, command)), env=environment, capture_output=True, text=True, timeout=120)
        self.assertEqual((done.returncode, done.stderr), (returns, ""), f"{command}\n{done.stdout}")
        return done.stdout

    def client(self, scenario, *, fake=NOW, **more):
        return self.start(PROGRAMS / "cupti_client", scenario, LIBRARY, fake, **more)

    def only_spool(self):
        spools = spools_of(self.recording)
        self.assertEqual(len(spools), 1)
        return spools[0]

    def state(self):
        return self.only_spool().facts["cupti"]


class Records(Case):
    def named(self, spool, name, kind):
        return [event for event in spool.events if event.name == name and event.kind == kind]

    def check_a_window(self, spool, steps):
        """What cupti_client's step leaves, `steps` times."""
        kernels = self.named(spool, GEMM, "kernel")
        self.assertEqual(len(kernels), steps)
        calls = {call.correlation: call for call in self.named(spool, "cudaLaunchKernel", "host_call")}
        for kernel in kernels:
            self.assertEqual((kernel.source, kernel.lane, kernel.attributes["launch_threads"]), ("cupti", STREAM, 200 * 256))
            call = calls[kernel.correlation]
            self.assertTrue(call.start <= call.end <= kernel.start <= kernel.end)
            self.assertEqual(call.sequence, spool.pid)  # the thread: it is the first
        nccl = self.named(spool, NCCL, "kernel")
        self.assertEqual(len(nccl), steps)
        drivers = {call.correlation for call in self.named(spool, "cuLaunchKernelEx", "host_call")}
        self.assertEqual({kernel.correlation for kernel in nccl}, drivers)
        copies = self.named(spool, "Memcpy DtoH (Device -> Pinned)", "copy")
        self.assertEqual([(copy.bytes, copy.lane) for copy in copies], [(4096, HTOD_STREAM)] * steps)
        peers = self.named(spool, "Memcpy PtoP (Device -> Device)", "copy")
        self.assertEqual([peer.bytes for peer in peers], [8192] * steps)
        self.assertEqual([event.bytes for event in spool.events if event.kind == "memset"], [512] * steps)
        syncs = self.named(spool, "cudaStreamSynchronize", "host_sync")
        records = self.named(spool, "stream synchronisation", "host_sync")
        self.assertEqual({one.correlation for one in syncs}, {one.correlation for one in records})
        self.assertEqual(len(syncs), steps)
        self.assertEqual([event for event in spool.events if event.kind == "loss"], [])
        known = {"kernel", "host_call", "host_sync", "copy", "memset", "window", "step"}
        self.assertEqual({event.kind for event in spool.events}, known)

    def test_a_window_of_steps_at_every_version(self):
        for version in VERSIONS:
            for fake in (OLD, NOW) if version < 23 else (NOW,):
                with self.subTest(version=version, fake=fake.parent.name):
                    self.setUp()
                    out = self.client("steps", fake=fake, FAKE_CUPTI_VERSION=str(version))
                    self.assertIn("enabled 0\n", out)
                    spool = self.only_spool()
                    self.check_a_window(spool, 10)
                    self.assertEqual(spool.facts["cupti"], "collected")
                    self.assertEqual(spool.facts["cupti.version"], str(version))
                    self.assertEqual(spool.facts["cupti.library"], str(fake))
                    steps = [event for event in spool.events if event.kind == "step"]
                    # The step that closes it carries a part of the cost.
                    self.assertEqual([number for number, step in enumerate(steps) if step.flags & 1], list(range(10, 21)))
                    kernels = self.named(spool, GEMM, "kernel")
                    self.assertTrue(steps[10].start <= kernels[0].start and kernels[-1].end <= steps[20].start)
                    window = self.named(spool, "cupti_window", "window")[0]
                    self.assertGreater(window.attributes["cost_ns"], 0)
                    self.assertGreaterEqual(window.attributes["overhead_ns"], 10 * 50000)  # ten records of it

    def test_the_calls_that_are_recorded(self):
        for calls, of_each_step in (("none", 0), ("all", 3), ("known", 3), ("", 3)):
            with self.subTest(calls):
                self.setUp()
                self.client("steps", GSD_CUPTI_CALLS=calls)
                spool = self.only_spool()
                self.assertEqual(len(self.named(spool, GEMM, "kernel")), 10)
                names = ("cudaLaunchKernel", "cuLaunchKernelEx", "cudaStreamSynchronize")
                found = [event for event in spool.events if event.name in names]
                self.assertEqual(len(found), 10 * of_each_step)

    def test_the_clock_is_ours_or_measured(self):
        for framework, clock in ((None, "CLOCK_MONOTONIC"), (PROGRAMS / "libtorch_cpu.so", "measured offset")):
            with self.subTest(clock):
                self.setUp()
                more = {"CLIENT_LOADS_FRAMEWORK": str(framework)} if framework else {}
                self.client("steps", **more)
                spool = self.only_spool()
                self.assertEqual(spool.facts["cupti.clock"], clock)
                self.check_a_window(spool, 10)

    def test_every_step_with_whole_graphs(self):
        self.client("steps", watch="all")
        spool = self.only_spool()
        self.assertEqual(len(self.named(spool, GEMM, "kernel")), 25)
        self.assertEqual(len(self.named(spool, "CUDA graph 5", "kernel")), 25)
        self.assertFalse([event for event in spool.events if event.kind == "step" and event.flags & 1])

    def test_theoretical_occupancy_where_the_driver_tells_its_limits(self):
        for preload, occupancy in ((PROGRAMS / "fake_driver" / "libcuda.so.1", 50), (None, None)):
            with self.subTest(preload):
                self.setUp()
                self.client("steps", **({"LD_PRELOAD": str(preload)} if preload else {}))
                kernels = self.named(self.only_spool(), GEMM, "kernel")
                self.assertEqual({kernel.attributes.get("occupancy_percent") for kernel in kernels}, {occupancy})
                filled = 100 if preload else None  # 200 blocks, 132 multiprocessors
                self.assertEqual({kernel.attributes.get("multiprocessors_percent") for kernel in kernels}, {filled})

    def test_named_steps(self):
        self.client("steps", watch="3:7")
        spool = self.only_spool()
        steps = [event for event in spool.events if event.kind == "step"]
        kernels = self.named(spool, GEMM, "kernel")
        self.assertEqual(len(kernels), 4)
        self.assertTrue(steps[3].start <= kernels[0].start and kernels[-1].end <= steps[7].start)

    def test_records_that_cannot_be_are_counted(self):
        self.client("bad", watch="all")
        spool = self.only_spool()
        self.assertEqual([event.name for event in spool.events if event.kind == "kernel"], ["good"])
        losses = losses_of(spool)
        self.assertEqual(losses, {"CUPTI records whose times cannot be": 4, "CUPTI records that CUPTI dropped": 17})

    def test_callbacks_from_several_threads(self):
        self.client("threads", watch="all")
        spool = self.only_spool()
        kernels = [event.correlation for event in spool.events if event.kind == "kernel"]
        lost = sum(event.bytes for event in spool.events if event.kind == "loss")
        self.assertEqual(len(kernels), len(set(kernels)))
        self.assertEqual((len(kernels) + lost, lost), (80000, 0))

    def test_more_buffers_wanted_than_there_are(self):
        self.client("starved", watch="all")
        spool = self.only_spool()
        kernels = [event for event in spool.events if event.kind == "kernel"]
        losses = losses_of(spool)
        self.assertEqual(list(losses), ["CUPTI records for which no buffer was free, at least"])
        self.assertTrue(0 < losses[list(losses)[0]] and len(kernels) >= 2 * 60)


class OtherTools(Case):
    def test_the_jobs_own_profiler_came_first(self):
        out = self.client("job-first")
        self.assertIn("foreign kernels 50\n", out)
        self.assertEqual(self.state(), "yielded: the job's own profiler uses CUPTI")
        self.assertFalse([event for event in self.only_spool().events if event.source == "cupti"])

    def test_the_jobs_own_profiler_came_before_cuda(self):
        self.assertIn("enabled 0\n", self.client("job-before-cuda"))
        self.assertEqual(self.state(), "yielded: the job's own profiler uses CUPTI")
        self.assertFalse([event for event in self.only_spool().events if event.source == "cupti"])

    def test_the_jobs_own_profiler_comes_later(self):
        out = self.client("job-later")
        for line in ("ours 1", "after yield 0", "foreign kernels 6", "at the end 0"):
            self.assertIn(line + "\n", out)
        self.assertNotIn("not its own", out)
        self.assertEqual(self.state(), "yielded: the job's own profiler uses CUPTI")
        spool = self.only_spool()
        self.assertEqual(len([event for event in spool.events if event.name == GEMM]), 2)

    def test_callbacks_that_another_tool_took_are_not_taken_back(self):
        out = self.client("stolen")
        self.assertIn("foreign kernels", out)
        self.assertIn("no record came", self.state())
        self.assertFalse([event for event in self.only_spool().events if event.kind == "kernel"])

    def test_cupti_that_refuses(self):
        for error, why in (("39", "another profiler holds it"), ("35", "reserved to the administrator"),
                           ("15", "does not fit the driver"), ("999", "999")):  # fmt: skip
            with self.subTest(error):
                self.setUp()
                self.client("steps", FAKE_CUPTI_ENABLE_ERROR=error)
                self.assertIn("unavailable", self.state())
                self.assertIn(why, self.state())

    def test_a_version_whose_layout_is_not_known(self):
        self.client("steps", FAKE_CUPTI_VERSION="140000")
        self.assertIn("140000", self.state())

    def test_a_profiler_around_the_job(self):
        self.client("steps", NSYS_PROFILING_SESSION_ID="1")
        self.assertEqual(self.state(), "yielded: Nsight Systems holds CUPTI in this process")


class Life(Case):
    def test_a_forked_child_leaves_cupti_alone(self):
        out = self.client("fork", watch="all")
        self.assertIn("child 0\n", out)
        spools = spools_of(self.recording)
        self.assertEqual(len(spools), 2)
        kernels = {spool.pid: [event.name for event in spool.events if event.kind == "kernel"] for spool in spools}
        self.assertEqual(sorted(map(len, kernels.values())), [0, 2])

    def test_a_killed_job_keeps_all_but_the_last_second(self):
        self.client("kill", watch="all", returns=-signal.SIGKILL)
        self.assertEqual([event.name for event in self.only_spool().events if event.kind == "kernel"], ["before"])

    def test_without_a_wish_or_a_recording_nothing_happens(self):
        for more in ({"watch": "never"}, {"watch": "7:3"}, {"record": False}):
            with self.subTest(more):
                self.setUp()
                self.assertIn("enabled 0\n", self.client("steps", **more))
                self.assertFalse([event for spool in spools_of(self.recording) for event in spool.events
                                  if event.source == "cupti"])  # fmt: skip

    def test_a_job_without_steps_is_watched_for_a_while(self):
        self.client("native")
        spool = self.only_spool()
        self.assertEqual(spool.facts["cupti"], "collected")
        window = spool.named("cupti_window")
        kernels = [event for event in spool.events if event.name == "native"]
        self.assertTrue(0 < len(kernels) < 180)
        self.assertTrue(all(window.start <= kernel.start for kernel in kernels))

    def test_a_process_that_only_starts_cuda_leaves_no_recording(self):
        self.client("nothing")
        self.assertEqual(spools_of(self.recording), [])


class RealLibraries(Case):
    def test_the_fakes_records_are_as_long_as_the_real_ones(self):
        real = find("GSD_TEST_CUPTI", "libcupti.so.1[0-9]")
        if real is None:
            self.skipTest("no libcupti.so in GSD_TEST_CUPTI, /usr/local/cuda* or Python's nvidia packages")
        told = strides_of(real)
        if told["version"] not in VERSIONS:
            self.skipTest(f"{real} is of version {told['version']}, which the fake does not play")
        self.assertEqual(told, strides_of(NOW, FAKE_CUPTI_VERSION=str(told["version"])))

    def test_the_real_runtime_brings_the_library_up(self):
        runtime = find("GSD_TEST_CUDART", "libcudart.so.1[0-9]")
        if runtime is None:
            self.skipTest("no libcudart.so in GSD_TEST_CUDART, /usr/local/cuda* or Python's nvidia packages")
        driver = str(PROGRAMS / "fake_driver")
        # First with the CUPTI beside that runtime, which does not start without a driver; then with one in the process.
        for more, state in (({}, "unavailable: CUPTI answers 999"), ({"LD_PRELOAD": str(NOW)}, "unavailable: no record came")):
            with self.subTest(more):
                self.setUp()
                out = self.start(PROGRAMS / "cudart_client", runtime, watch="all", CUDA_INJECTION64_PATH=LIBRARY,
                                 LD_LIBRARY_PATH=driver, **more)  # fmt: skip
                self.assertIn("answer", out)
                self.assertIn(state, self.state())


if __name__ == "__main__":
    unittest.main()
