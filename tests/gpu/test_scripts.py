#!/usr/bin/env python3
"""The scripts of this folder without a GPU: what they call right and wrong, and that a run of them ends in its table.

environment: GSD_TEST_BUILD   the build folder
             GSD_TEST_PYTHON  a Python with torch, for the run; without it that part is skipped
"""
import os
import subprocess
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace

import checks
import kernels
import overhead

HERE = Path(__file__).resolve().parent


def event(kind, start=0, end=0, correlation=0, name="", bytes=0):
    return SimpleNamespace(kind=kind, start=start, end=end, correlation=correlation, name=name, bytes=bytes)


def spool(*events, **facts):
    return SimpleNamespace(events=list(events), facts=facts)


def launched(number, call, begin, end):
    return [event("host_call", call, call + 1, number, "cudaLaunchKernel"), event("kernel", begin, end, number, "gemm")]


class Judging(unittest.TestCase):
    def test_what_was_collected(self):
        good = spool(*launched(1, 10, 12, 20), cupti="collected")
        self.assertTrue(checks.collected([good, spool()])[0])
        unlinked = spool(event("kernel", 12, 20, 7), cupti="collected")
        lossy = spool(*good.events, event("loss", bytes=3), cupti="collected")
        silent = spool(cupti="unavailable: no libcupti")
        for bad in ([unlinked], [lossy], [silent], [good, good], []):
            self.assertFalse(checks.collected(bad)[0])
        self.assertIn("no libcupti", checks.collected([silent])[1])

    def test_clocks(self):
        saw = {"idle_ns": [100, 200], "ended_ns": 400}
        before, after = launched(1, 10, 12, 20), launched(2, 210, 212, 220)
        self.assertTrue(checks.clock([spool(*before, *after, cupti="collected")], saw)[0])
        for wrong in (launched(2, 210, 209, 220), launched(2, 210, 150, 220), launched(2, 210, 390, 401)):
            self.assertFalse(checks.clock([spool(*before, *after, *wrong, cupti="collected")], saw)[0])
        self.assertFalse(checks.clock([spool(*before, cupti="collected")], saw)[0], "nothing after the pause")

    def test_counters(self):
        names = {"gpu__time_duration.sum": 4000, "dram__throughput.avg.pct_of_peak_sustained_elapsed": 61_000}

        def counted(step, **more):
            found = event("mark", name="gpu_counters")
            found.step, found.attributes = step, {**names, **more}
            return found

        def recording(*found, **facts):
            return [spool(*found, cupti="collected", **{"counters.metrics": ",".join(names), **facts})]

        three = [counted(step) for step in (25, 26, 27)]
        self.assertTrue(checks.counters(recording(*three, counters="collected"))[0])
        self.assertFalse(checks.counters(recording(*three[:2], counters="collected"))[0], "a step is missing")
        share = {"dram__throughput.avg.pct_of_peak_sustained_elapsed": 140_000}
        self.assertFalse(checks.counters(recording(*three, counted(27, **share), counters="collected"))[0])
        self.assertFalse(checks.counters(recording(*three, counted(27, **{"gpu__time_duration.sum": 0}),
                                                   counters="collected"))[0])  # fmt: skip
        passed, text = checks.counters(recording(counters="unavailable: CUPTI answers 35 to counting: counters are reserved "
                                                          "to the administrator"))  # fmt: skip
        self.assertIsNone(passed)
        self.assertIn("could not be measured: unavailable: CUPTI answers 35", text)
        self.assertFalse(checks.counters(recording(counters="unavailable: no bucket of a communication hook began"))[0])
        self.assertFalse(checks.counters([])[0])

    def test_the_jobs_profiler_comes_first(self):
        self.assertTrue(checks.shares_with_profiler([spool(cupti="yielded: the job's own")], {"profiled_kernels": 3})[0])
        self.assertFalse(checks.shares_with_profiler([spool(cupti="collected")], {"profiled_kernels": 0})[0])
        self.assertFalse(checks.shares_with_profiler([], {"profiled_kernels": 3})[0])

    def test_graphs(self):
        replay = event("host_call", name="cudaGraphLaunch")
        whole = [spool(replay, event("kernel", name="CUDA graph 4"), cupti="collected")]
        single = [spool(replay, event("kernel", name="gemm"), event("kernel", name="relu"), cupti="collected")]
        self.assertTrue(checks.graph_kernels(whole, True)[0] and checks.graph_kernels(single, False)[0])
        self.assertFalse(checks.graph_kernels(whole, False)[0] or checks.graph_kernels(single, True)[0])

    def test_kill_and_fork(self):
        kept = [spool(event("kernel"), cupti="collected")]
        self.assertTrue(checks.survives_kill(kept, 137)[0])
        self.assertFalse(checks.survives_kill(kept, 0)[0] or checks.survives_kill([], 137)[0])
        job, saw = spool(event("kernel"), event("kernel")), {"ended_ns": 1}
        self.assertTrue(checks.leaves_workers_alone([job, spool()], saw)[0])
        self.assertFalse(checks.leaves_workers_alone([job, spool(event("kernel"))], saw)[0])
        self.assertFalse(checks.leaves_workers_alone([job], {})[0], "the job did not end")

    def test_cost_is_a_ratio_within_a_round(self):
        medians = {"nothing": [10, 20, None], "kernels": [11, 22, 5], "torch.profiler": [None, None, None]}
        self.assertEqual(overhead.ratios(medians, "nothing")["kernels"][3], 2)
        text = dict(overhead.rows(medians))
        self.assertEqual(text["kernels"], "+10.00 % [+10.00, +10.00], n=2")
        self.assertEqual(text["torch.profiler"], "could not be measured")

    def test_kernels_against_their_targets(self):
        def bench(ms, share):
            return {"metrics": [{"name": "load.topk_histogram.cuda.ms", "value": ms},
                                {"name": "load.topk_histogram.cuda.roofline_percent", "value": share}]}  # fmt: skip

        verdicts = [kernels.rows(bench(*one), {"topk_ms": 1})[0][1] for one in ((0.1, 80), (0.5, 80), (0.1, 60))]
        self.assertEqual(verdicts, [True, False, False])
        self.assertIsNone(kernels.rows(bench(1, 80), {"topk_ms": 1})[1][1], "1-bit was not measured")


def has_torch(python):
    return bool(python) and subprocess.run([python, "-c", "import torch.distributed"], capture_output=True).returncode == 0


@unittest.skipUnless(has_torch(os.environ.get("GSD_TEST_PYTHON")), "no Python with torch")
class WholeRun(unittest.TestCase):
    def test_without_a_device_every_check_fails_and_the_cost_is_measured(self):
        with tempfile.TemporaryDirectory() as folder:
            smi, out = Path(folder) / "nvidia-smi", Path(folder) / "table"
            smi.write_text("#!/bin/sh\necho no such card\n")
            smi.chmod(0o755)
            command = [os.environ["GSD_TEST_PYTHON"], HERE / "measure.py", os.environ["GSD_TEST_BUILD"], "--out", out,
                       "--rounds", "1", "--idle", "0.1", "--elements", "1000",
                       "--job", "--device cpu --width 16 --layers 2 --batch 4"]  # fmt: skip
            done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=500,
                                  env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"})  # fmt: skip
            self.assertEqual(done.returncode, 1, done.stderr)
            table = out.read_text()
        self.assertIn("no such card", table)
        for name in ("injection, one window", "clocks", "graph replay, window", "SIGKILL"):
            self.assertRegex(table, rf"{name} +FAILED")
        self.assertRegex(table, r"nothing +- +[0-9.]+ ms per step")
        self.assertRegex(table, r"the doctor without CUPTI +- +[-+][0-9.]+ %")


class Jobs(unittest.TestCase):
    def test_every_option_is_explained(self):
        for script in ("job.py", "measure.py", "nccl_job.py"):
            done = subprocess.run(["python3", HERE / script, "--help"], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
