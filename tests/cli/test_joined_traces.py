#!/usr/bin/env python3
"""`analyze` of one trace for each rank: clocks of their own, beginnings of their own."""
import json
import os
import pathlib
import unittest

import doctor


def trace(rank, ready, steps, base, first=0):
    """Three ranks of a GPU job: in each step a kernel until `ready`, then an all-reduce until 90 ms. Microseconds."""
    events = []

    def add(name, category, start, end, **more):
        events.append({"ph": "X", "cat": category, "name": name, "ts": start, "dur": end - start, "pid": 0, "tid": 7, **more})

    for step in range(first, steps):
        at = base + step * 100000 + step * step * 37 % 101 * 70
        add("ProfilerStep#%d" % step, "user_annotation", at, at + 95000, tid=1)
        add("gemm", "kernel", at + 1000, at + ready, args={"stream": 7, "device": rank})
        add("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)", "kernel", at + ready, at + 90000, tid=20,
            args={"stream": 20, "device": rank})
    return {"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 3},
            "traceEvents": events}


class JoinedTraces(doctor.TestCase):
    def analyze(self, traces, *options):
        for rank, content in enumerate(traces):
            (self.folder / ("rank%d.json" % rank)).write_text(json.dumps(content))
        report = self.folder / "report.json"
        done = self.doctor("analyze", *sorted(self.folder.glob("rank*.json")), "--json", report, *options)
        self.assertEqual(0, done.returncode, done.stderr)
        return json.loads(report.read_text())

    def value(self, report, name, scope):
        return {(metric["name"], metric["scope"]): metric["value"] for metric in report["metrics"]}.get((name, scope))

    def assertLate(self, report, rank):
        self.assertEqual([("straggler-rank", "rank:%d" % rank)],
                         [(finding["rule"], finding["scope"]) for finding in report["findings"]
                          if finding["state"] == "fired" and finding["rule"] == "straggler-rank"])
        self.assertEqual("straggler-rank", report["findings"][0]["rule"])

    def test_too_few_ends_for_a_clock_and_yet_the_late_rank_is_named(self):
        report = self.analyze([trace(0, 20000, 8, 5000000), trace(1, 60000, 8, 77000000), trace(2, 21000, 8, 9000000)])
        self.assertEqual("one for each rank, not aligned", report["run"]["clocks"])
        [clocks] = self.coverage(report, "clocks of the ranks")
        self.assertIn("only 8 ends of all-reduces", clocks["reason"])
        self.assertLate(report, 1)
        self.assertEqual(100, self.value(report, "straggler.short_collective_percent", "rank:1"))
        self.assertIsNone(self.value(report, "straggler.late_over_residual", "rank:1"))
        self.assertAlmostEqual(40, self.value(report, "attribution.comm_peer_wait_ms", "rank:0"), places=3)
        self.assertAlmostEqual(30, self.value(report, "attribution.comm_transfer_ms", "rank:0"), places=3)

    def test_clocks_are_aligned_by_twenty_ends_and_heads_are_cut(self):
        traces = [trace(0, 20000, 30, 5000000), trace(1, 60000, 30, 77000000, first=4), trace(2, 21000, 30, 9000000)]
        report = self.analyze(traces, "--threads", "1")
        self.assertRegex(report["run"]["clocks"], r"^aligned by the ends of 30 all-reduces, residual p90 \d us$")
        self.assertLess(self.value(report, "clock.residual_us", "all"), 1)
        self.assertLate(report, 1)
        self.assertAlmostEqual(39.5, self.value(report, "straggler.late_ms", "rank:1"), places=2)
        # Every rank's step would be shorter by what the others wait for it: not by the mean over it and them.
        self.assertAlmostEqual(38.5, self.value(report, "predict.no_straggler.saved_ms", "all"), delta=1)
        first = (self.folder / "report.json").read_bytes()
        self.analyze(traces, "--threads", "2")
        self.assertEqual(first, (self.folder / "report.json").read_bytes())

    def test_even_ranks_are_not_blamed(self):
        report = self.analyze([trace(rank, 20000 + (rank * 31) % 3, 8, 5000000 * (rank + 1)) for rank in range(3)])
        self.assertNotIn("straggler-rank", doctor.fired(report))

    @unittest.skipUnless(os.environ.get("GSD_CORPUS"), "needs GSD_CORPUS, the folder of real files")
    def test_real_traces(self):
        kineto = pathlib.Path(os.environ["GSD_CORPUS"]) / "kineto"
        report_file = self.folder / "report.json"
        for folder, late in [("torchrec-sst_sleep_pl_dense_after_backward_2-set1", "rank:2"), ("param-dlrm-8rank", None),
                             ("hta-sampled", None), ("own-gloo-cpu-2rank-none", None)]:
            with self.subTest(folder):
                self.doctor("analyze", kineto / folder, "--json", report_file)
                report = json.loads(report_file.read_text())
                named = [finding["scope"] for finding in report["findings"]
                         if finding["state"] == "fired" and finding["rule"] == "straggler-rank"]
                self.assertEqual([late] if late else [], named)
                if late:
                    self.assertEqual("straggler-rank", report["findings"][0]["rule"])
                    self.assertGreater(self.value(report, "straggler.idle_percent", late), 90)
                    self.assertGreater(self.value(report, "straggler.others_comm_percent", late), 85)


if __name__ == "__main__":
    unittest.main()
