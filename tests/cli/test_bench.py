#!/usr/bin/env python3
"""bench: what it prints and writes, wrong calls, and the sizes of a job's report."""
import ctypes
import json
import os
import unittest

import doctor

SMALL = ["--n", "70K", "--repeat", "2"]


def rows_of(report, name):
    """The rows of a series, each as a dict of its columns."""
    series = next(one for one in report["series"] if one["name"] == name)
    return [dict(zip(series["columns"], row)) for row in series["rows"]]


class WrongCalls(doctor.TestCase):
    CASES = [
        (["--n", "many"], 2, ["--n", "many"]),
        (["--n", "0"], 2, ["--n", "0"]),
        (["--n", "5000M"], 2, ["--n", "5000M"]),
        (["--algo", "topk_magic"], 2, ["topk_magic", "topk_histogram"]),
        (["--device", "tpu"], 2, ["--device"]),
        (["--threads", "0"], 2, ["--threads", "0"]),
        (["--threads", "few"], 2, ["--threads", "few", "all"]),
        (["--repeat", "0"], 2, ["--repeat"]),
        (["--ratio", "0"], 2, ["--ratio"]),
        (["--ratio", "101%"], 2, ["--ratio", "101%"]),
        (["--ratio", "half"], 2, ["--ratio", "half"]),
        (["--half", "fp8"], 2, ["--half", "fp8"]),
        (["--counters", "no-such-event"], 2, ["--counters", "no-such-event"]),
        (["--device", "cuda", "--counters", "cycles"], 2, ["those are of the CPU", "run --deep cupti --counters"]),
        (["--merge", "never"], 2, ["--merge", "never"]),
        (["--ranks", "1"], 2, ["--ranks"]),
        (["--n", "1M", "--like", "x"], 2, ["--n", "--like"]),
        (["--like", "/nonexistent"], 3, ["/nonexistent", "No such file"]),
        (["--like", "/dev/null"], 3, ["/dev/null", "empty"]),
        (["--n", "3999M"], 3, ["--n"]),  # far more memory than a test machine has
        (["extra"], 2, ["extra"]),
    ]

    def test_each_says_what_is_wrong(self):
        for arguments, status, words in self.CASES:
            with self.subTest(arguments):
                done = self.doctor("bench", *arguments)
                self.assertSays(done, status, *words)
                self.assertEqual("", done.stdout)


class Gpus(doctor.TestCase):
    def test_built_without_kernels_for_gpus(self):
        done = self.doctor("bench", "--device", "cuda", GSD_PLUGIN_PATH=str(self.folder))
        self.assertSays(done, 3, "cannot measure on cuda", "libgradsync_cuda_loads.so", "built without it", "nvcc", "--device cpu")

    def test_no_driver(self):
        try:
            ctypes.CDLL("libcuda.so.1")
            self.skipTest("this machine has a driver for GPUs")
        except OSError:
            done = self.doctor("bench", "--device", "cuda")
        if "built without it" in done.stderr:
            self.skipTest("built without nvcc")
        self.assertSays(done, 3, "cannot measure on cuda", "libcuda.so.1", "NVIDIA driver", "--device cpu")

    def test_a_driver_that_is_of_no_use(self):
        folder = os.environ.get("GSD_FAKE_CUDA", doctor.ROOT / "build/release/tests/cli/fake_cuda")
        for variables, words in [
            ({"FAKE_CUDA_VERSION": "10020"}, ["the driver is for CUDA 10.2", "install a newer driver"]),
            ({"FAKE_CUDA_INIT": "100"}, ["no CUDA-capable device", "nvidia-smi"]),
            ({}, ["no CUDA-capable device", "nvidia-smi"]),
        ]:
            with self.subTest(variables):
                done = self.doctor("bench", "--device", "cuda", LD_LIBRARY_PATH=str(folder), **variables)
                if "built without it" in done.stderr:
                    self.skipTest("built without nvcc")
                self.assertSays(done, 3, "cannot measure on cuda", "--device cpu", *words)


class Reports(doctor.TestCase):
    def report(self, *arguments):
        path = self.folder / "bench.json"
        done = self.doctor("bench", *SMALL, *arguments, "--json", path)
        self.assertSays(done, 0)
        return json.loads(path.read_text()), done.stdout

    def test_table_and_metrics(self):
        report, text = self.report("--algo", "topk_histogram,onebit_ef,param_server", "--threads", "2")
        self.assertIn("3 loads do what they say", text)
        self.assertIn("70K elements", text)
        self.assertIn("topk_histogram", text)
        metrics = {metric["name"]: metric["value"] for metric in report["metrics"]}
        for algorithm in ("topk_histogram", "onebit_ef", "param_server"):
            self.assertGreater(metrics[f"load.{algorithm}.cpu.ms"], 0)
            self.assertGreater(metrics[f"load.{algorithm}.cpu.roofline_percent"], 0)
        self.assertEqual(metrics["load.onebit_ef.wire_bytes"], 4 * -(-70000 // 32) + 4 * -(-70000 // 16384))
        self.assertEqual(metrics["load.param_server.wire_bytes"], 4 * 70000)
        self.assertGreater(metrics["memory.copy_gbytes_per_s"], 0)
        self.assertEqual("2", report["facts"]["bench.threads"])
        rows = rows_of(report, "load_profiles")
        self.assertEqual(["topk_histogram", "onebit_ef", "param_server"], [row["algorithm"] for row in rows])
        self.assertAlmostEqual(1, rows[2]["cosine"], places=6)
        self.assertTrue(all(row["passed"] == 1 for row in rows_of(report, "load_checks")))

    def test_the_report_keeps_to_the_schema_and_can_be_drawn_again(self):
        try:
            import jsonschema
        except ImportError:
            self.skipTest("no python3-jsonschema")
        report, text = self.report("--algo", "cast16")
        schema = json.loads((doctor.ROOT / "schema/report.schema.json").read_text())
        jsonschema.Draft202012Validator(schema).validate(report)
        self.assertEqual(text, self.doctor("show", self.folder / "bench.json").stdout)

    def test_json_alone_on_standard_output_and_narrow_terminals(self):
        done = self.doctor("bench", *SMALL, "--algo", "cast8", "--json", "-")
        self.assertEqual("bench", json.loads(done.stdout)["command"])
        narrow = self.doctor("bench", *SMALL, "--algo", "cast8", COLUMNS="50").stdout
        self.assertIn("cast8", narrow)
        self.assertTrue(all(len(line) <= 50 for line in narrow.splitlines()), narrow)
        quiet = self.doctor("bench", *SMALL, "--algo", "cast8", "-q").stdout
        self.assertNotIn("cosine", quiet)

    def test_variants_are_told(self):
        report, _ = self.report("--algo", "cast16,param_server", "--half", "bf16", "--merge", "apply-each", "--feedback")
        for fact, value in {"half": "bf16", "merge": "apply-each", "feedback": "yes"}.items():
            self.assertEqual(value, report["facts"]["bench." + fact])
        self.assertIn("--merge", report["run"]["command_line"])

    def test_sizes_of_a_job(self):
        report, _ = self.report("--algo", "cast16")
        report["facts"] = {"ddp.bucket_bytes": "400000,4004,400000"}
        job = self.folder / "job.json"
        job.write_text(json.dumps(report))
        path = self.folder / "like.json"
        self.assertSays(self.doctor("bench", "--like", job, "--algo", "cast16", "--repeat", 2, "--json", path), 0)
        like = json.loads(path.read_text())
        rows = rows_of(like, "load_profiles")
        self.assertEqual([(1001, 1), (100000, 2)], [(row["elements"], row["buckets"]) for row in rows])
        wire = next(metric["value"] for metric in like["metrics"] if metric["name"] == "load.cast16.wire_bytes")
        self.assertEqual(2 * (1001 + 2 * 100000), wire)

    def test_a_job_whose_buckets_nobody_knows(self):
        report, _ = self.report("--algo", "cast16")
        job = self.folder / "job.json"
        job.write_text(json.dumps(report))
        self.assertSays(self.doctor("bench", "--like", job), 3, "job.json", "--n")


if __name__ == "__main__":
    unittest.main()
