#!/usr/bin/env python3
"""The command sweep: wrong calls, logs, saved sweeps with a planted drop, and real ranks over loopback."""
import csv
import json
import os
import pathlib
import pty
import random
import re
import signal
import socket
import subprocess
import unittest

import doctor
import recompute_sweep

PLUGIN = pathlib.Path(os.environ.get("GSD_PLUGIN_PATH", pathlib.Path(doctor.PROGRAM).parent / "plugins"))
HAS_GLOO = (PLUGIN / "libgradsync_gloo.so").exists()
needs_gloo = unittest.skipUnless(HAS_GLOO, "Gloo's plug-in was not built (Debian: libgloo-dev)")

HEADER = """# Collective test starting: all_reduce_perf
# nThread 1 nGpus 1 minBytes 1024 maxBytes 1048576 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0
# Using devices
#  Rank  0 Group  0 Pid   10 on    alpha device  0 [0x1b] NVIDIA H100
#  Rank  1 Group  0 Pid   20 on     beta device  0 [0x1b] NVIDIA H100
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
"""
SIZES = [1024 << i for i in range(11)]


def log_line(size, us):
    bandwidth = size / us * 1e-3
    half = f"{us:8.2f} {bandwidth:7.2f} {bandwidth:7.2f}      0"
    return f"{size:12d}  {size // 4:12d}     float     sum      -1 {half} {half}\n"


def saved_sweep(cost_us, noise=0.05, repeats=10, seed=7):
    """A report as sweep writes it, of a fabric on which `cost_us(bytes)` is the median."""
    draw = random.Random(seed)
    columns = ["bytes", "repeat", "us", "type", "count", "skew_us", "graph_us", "wrong", "load"]
    rows = [[size, repeat, cost_us(size) * draw.lognormvariate(0, noise), "float", size // 4, 1.0, None, 0, ""]
            for repeat in range(repeats) for size in SIZES]
    return {"schema_version": 1, "tool": {"name": "gradsync-doctor", "version": "0.1.0", "parts": {}}, "command": "sweep",
            "run": {"command_line": [], "hosts": ["node1"], "ranks": 2, "steps": 0, "seconds": 1.0, "backend": "gloo",
                    "versions": {}, "cpus": 2, "clocks": "", "recording": "", "recording_id": ""},
            "facts": {"sweep.ranks": "2", "backend": "gloo", "sweep.at": "2025-11-30T12:00:00Z"}, "coverage": [], "metrics": [],
            "series": [{"name": "sweep_samples.all_reduce", "columns": columns, "rows": rows}], "attribution": [],
            "findings": [], "verdict": {"text": "", "sign": "unknown", "ms": 0, "p05": 0, "p95": 0, "measured": False}}


def smooth(size):
    return 40 + size / 2000


def dropping(size):  # from 8 to 2 GB/s behind 32 KiB, and back above 128 KiB
    return 5 + size / (2000 if 32768 < size <= 131072 else 8000)


class SweepCase(doctor.TestCase):
    def write(self, name, content):
        path = self.folder / name
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    def sweep(self, *arguments, **more):
        return self.doctor("sweep", *arguments, **more)

    def report(self, *arguments, **more):
        done = self.sweep("--json", "-", *arguments, **more)
        self.assertEqual(0, done.returncode, done.stderr)
        return json.loads(done.stdout)

    def rows(self, report, name):
        return recompute_sweep.rows_of(report, name)


class WrongCalls(SweepCase):
    CASES = [
        (["--op", "allreduce", "--ranks", "2"], 2, ["--op", "allreduce", "all_reduce"]),
        (["--type", "double", "--ranks", "2"], 2, ["--type", "double", "float, half or int8"]),
        (["--backend", "mpi", "--ranks", "2"], 2, ["--backend", "mpi"]),
        (["--min", "1M", "--max", "1K", "--ranks", "2"], 2, ["--min", "1M", "larger than --max 1K"]),
        (["--min", "0", "--ranks", "2"], 2, ["--min", "at least one byte"]),
        (["--min", "4Mb", "--ranks", "2"], 2, ["--min", "4Mb"]),
        (["--max", "99999999T", "--ranks", "2"], 2, ["--max", "too large"]),
        (["--max", "64T", "--ranks", "2"], 2, ["--max", "free", "a smaller --max"]),
        (["--sizes", "1K,many", "--ranks", "2"], 2, ["--sizes", "many"]),
        (["--ranks", "1"], 2, ["--ranks", "one rank", "--ranks 2"]),
        (["--ranks", "-3"], 2, ["--ranks", "-3"]),
        (["--ranks", "two"], 2, ["--ranks"]),
        (["--repeat", "0", "--ranks", "2"], 2, ["--repeat"]),
        (["--interface", "no-such0", "--ranks", "2"], 2, ["--interface", "no-such0", "lo"]),
        (["--timeout", "soon", "--ranks", "2"], 2, ["--timeout", "soon"]),
        (["--max-time", "0", "--ranks", "2"], 2, ["--max-time"]),
        (["--ranks", "2", "--from", "x.log"], 2, ["--from", "--ranks"]),
        (["--from", "/nonexistent.log"], 3, ["/nonexistent.log", "No such file"]),
        (["--from", "/dev/null"], 3, ["/dev/null"]),
        (["--overlay", "/nonexistent.json", "--ranks", "2"], 3, ["/nonexistent.json"]),
        (["--bogus"], 2, ["--bogus"]),
    ]

    def test_each_says_what_is_wrong(self):
        for arguments, status, words in self.CASES:
            with self.subTest(arguments):
                done = self.sweep(*arguments)
                self.assertSays(done, status, *words)
                self.assertEqual("", done.stdout)

    def test_without_ranks_and_without_a_launcher(self):
        done = self.sweep()
        self.assertSays(done, 2, "--ranks")

    def test_files_that_hold_no_sweep(self):
        self.assertSays(self.sweep("--from", self.write("latency.txt", "hello\n")), 3, "latency.txt")
        saved = saved_sweep(smooth)
        both = [self.write("a.json", saved), self.write("b.json", saved)]
        self.assertSays(self.sweep("--from", *both), 2, "a.json", "alone")
        saved["series"] = []
        self.assertSays(self.sweep("--from", self.write("empty.json", saved)), 3, "empty.json")

    def test_an_overlay_without_messages(self):
        self.assertSays(self.sweep("--from", self.write("s.json", saved_sweep(smooth)), "--overlay",
                                   self.write("job.json", saved_sweep(smooth))), 3, "--overlay", "job.json", "no messages")

    def test_a_table_that_cannot_be_written(self):
        done = self.sweep("--from", self.write("s.json", saved_sweep(smooth)), "--csv", "/nonexistent/t.csv")
        self.assertEqual(125, done.returncode)
        self.assertIn("/nonexistent/t.csv", done.stderr)


class Logs(SweepCase):
    def test_a_log_is_drawn_by_sweep_as_by_analyze(self):
        log = self.write("a.log", HEADER + "".join(log_line(size, smooth(size)) for size in SIZES))
        drawn = self.sweep("--from", log).stdout
        table = drawn[drawn.index("\nall_reduce float"):drawn.index("GB/s over size")]
        self.assertIn("  1048576     262144  float   out    564.3", table)
        self.assertIn(table, self.doctor("analyze", log).stdout)
        self.assertIn("└───", drawn)
        self.assertNotIn("compress-not-overlapped", drawn)  # what is asked of jobs is not asked of a fabric

    def test_csv(self):
        log = self.write("a.log", HEADER + "".join(log_line(size, smooth(size)) for size in SIZES))
        done = self.sweep("--from", log, "--csv", self.folder / "t.csv")
        self.assertEqual(0, done.returncode, done.stderr)
        with open(self.folder / "t.csv", newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(2 * len(SIZES), len(rows))
        self.assertEqual(("all_reduce", "1024", "40.51"), tuple(rows[0][key] for key in ("operation", "bytes", "p50_us")))

    def test_narrow_and_without_utf8(self):
        log = self.write("a.log", HEADER + "".join(log_line(size, smooth(size)) for size in SIZES))
        drawn = self.sweep("--from", log, COLUMNS="40", LC_ALL="C", TERM="dumb", NO_COLOR="1").stdout
        self.assertTrue(drawn.isascii())
        self.assertLessEqual(max(map(len, drawn.splitlines())), 40)


class SavedSweeps(SweepCase):
    """A second program recomputes what is said about cliffs from the calls that are saved."""

    def judged(self, **how):
        report = self.report("--from", self.write("s.json", saved_sweep(**how)))
        said, wrong = recompute_sweep.check(report)
        self.assertEqual([], wrong, "\n".join(said))
        return self.rows(report, "fabric_cliffs")

    def test_a_planted_drop_is_found_where_it_is(self):
        for seed in range(5):
            with self.subTest(seed):
                [row] = self.judged(cost_us=dropping, noise=0.08, seed=seed)
                self.assertEqual(("cliff", 32768, 65536, 131072, "severe"),
                                 tuple(row[key] for key in ("answer", "from_bytes", "to_bytes", "until_bytes", "severity")))
                self.assertLess(row["p_value"], 0.05)

    def test_a_smooth_curve_has_none(self):
        for seed in range(5):
            with self.subTest(seed):
                [row] = self.judged(cost_us=smooth, noise=0.05, repeats=20, seed=seed)
                self.assertEqual("no cliff", row["answer"])

    def test_equal_times_are_ranked_as_ties(self):
        rounded = lambda size: round(dropping(size) / 4) * 4
        [row] = self.judged(cost_us=rounded, noise=0)
        self.assertEqual("cliff", row["answer"])

    def test_fewer_than_seven_repeats_prove_nothing(self):
        [row] = self.judged(cost_us=dropping, repeats=5)
        self.assertEqual("undecided", row["answer"])

    def test_the_second_program_would_notice_a_wrong_number(self):
        report = self.report("--from", self.write("s.json", saved_sweep(dropping)))
        [series] = [series for series in report["series"] if series["name"] == "fabric_cliffs"]
        column = series["columns"].index("p_value")
        series["rows"][0][column] *= 1.001
        self.assertEqual(1, len(recompute_sweep.check(report)[1]))

    def test_a_saved_sweep_is_drawn_as_it_was(self):
        path = self.write("s.json", saved_sweep(dropping))
        first = self.sweep("--from", path, "--json", self.folder / "again.json").stdout
        self.assertEqual(first, self.doctor("show", self.folder / "again.json").stdout)
        self.assertIn("cliff at 32 KiB … 64 KiB", first)

    def test_break_even_with_reference_loads(self):
        loads = saved_sweep(smooth)
        loads["series"] = [{"name": "load_profiles", "columns": ["algorithm", "device", "elements", "ms_p10", "ms_p50", "ms_p90"],
                            "rows": [["cast16", "cpu", 1 << 20, 0.1, 0.1, 0.2], ["cast16", "cpu", 1 << 24, 1.5, 1.6, 2.0]]}]
        path = self.write("s.json", saved_sweep(smooth))
        report = self.report("--from", path, "--loads", self.write("loads.json", loads))
        self.assertEqual({"cast16"}, {row["algorithm"] for row in self.rows(report, "break_even")})
        self.assertSays(self.sweep("--from", path, "--loads", path), 3, "--loads", "s.json")

    def test_a_job_is_laid_on_the_curve(self):
        job = saved_sweep(smooth)
        job["series"] = [{"name": "messages", "columns": ["group", "op", "bytes", "count_per_step", "total_ms", "exposed_ms"],
                          "rows": [["0", "all_reduce", 65536, 10.0, 5.0, 1.0], ["0", "all_reduce", 1048576, 1.0, 2.0, 1.0]]}]
        report = self.report("--from", self.write("s.json", saved_sweep(smooth)), "--overlay", self.write("job.json", job))
        self.assertEqual([65536, 1048576], [row["bytes"] for row in self.rows(report, "job_on_fabric")])
        self.assertTrue(all(row["cost_us"] > 40 for row in self.rows(report, "job_on_fabric")))


@needs_gloo
class RealRanks(SweepCase):
    SMALL = ["--ranks", "2", "--max", "16K", "--repeat", "7", "--max-time", "10s"]

    def test_the_curve_is_measured_kept_and_recomputed(self):
        done = self.sweep(*self.SMALL, "--json", self.folder / "s.json", "--csv", self.folder / "t.csv")
        self.assertEqual(0, done.returncode, done.stderr)
        report = json.loads((self.folder / "s.json").read_text())
        self.assertEqual((2, "gloo"), (report["run"]["ranks"], report["run"]["backend"]))
        samples = self.rows(report, "sweep_samples.all_reduce")
        self.assertEqual({1024, 2048, 4096, 8192, 16384}, {row["bytes"] for row in samples})
        self.assertGreaterEqual(len(samples), 35)
        self.assertEqual({0}, {row["wrong"] for row in samples if row["wrong"] is not None})
        said, wrong = recompute_sweep.check(report)
        self.assertEqual([], wrong)
        self.assertTrue(said)
        self.assertIn("all_reduce float   2 ranks   gloo", done.stdout)
        if not any(row["mape_percent"] <= 10 for row in self.rows(report, "fabric_fit")):  # a busy machine
            self.assertIn("not kept for later runs", done.stderr)
            return
        [profile] = (self.folder / "state/gradsync-doctor/profiles").iterdir()
        self.assertIn(str(profile), done.stderr)
        self.assertEqual(0o700, profile.parent.stat().st_mode & 0o777)
        kept = json.loads(profile.read_text())
        self.assertEqual([socket.gethostname()], kept["run"]["hosts"])
        self.assertTrue(self.rows(kept, "fabric_fit"))

    def test_all_operations_of_small_integers_without_keeping(self):
        report = self.report(*self.SMALL, "--op", "all", "--type", "int8", "--min", "8K", "--no-save")
        for operation in ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "send_recv"):
            left_out = any(entry["source"] == "sweep of " + operation for entry in report["coverage"])
            self.assertNotEqual(left_out, bool(self.rows(report, "sweep." + operation)), operation)
        self.assertFalse((self.folder / "state/gradsync-doctor/profiles").exists())

    def test_a_jobs_own_sizes_are_measured_too(self):
        job = saved_sweep(smooth)
        job["series"] = [{"name": "messages", "columns": ["group", "op", "bytes", "count_per_step", "total_ms", "exposed_ms"],
                          "rows": [["0", "all_reduce", 5000, 10.0, 5.0, 1.0]]}]
        report = self.report(*self.SMALL, "--no-save", "--overlay", self.write("job.json", job))
        self.assertIn(5000, {row["bytes"] for row in self.rows(report, "sweep.all_reduce")})

    def test_under_a_launcher_only_rank_0_prints(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        ranks = [subprocess.Popen([doctor.PROGRAM, "sweep", "--max", "4K", "--repeat", "7", "--no-save"], text=True,
                                  env=self.environment(RANK=str(rank), WORLD_SIZE="2", LOCAL_RANK=str(rank),
                                                       MASTER_ADDR="127.0.0.1", MASTER_PORT="1", GSD_SWEEP_PORT=str(port)),
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE) for rank in (0, 1)]
        leader, follower = [rank.communicate(timeout=100) for rank in ranks]
        self.assertEqual([0, 0], [rank.returncode for rank in ranks], leader[1] + follower[1])
        self.assertIn("all_reduce float", leader[0])
        self.assertEqual(("", ""), follower)

    def test_control_c_reports_what_was_measured(self):
        child, terminal = pty.fork()
        if child == 0:
            os.execve(doctor.PROGRAM, [doctor.PROGRAM, "sweep", "--ranks", "2", "--max", "4K", "--repeat", "100000", "--max-time",
                                       "10min", "--json", str(self.folder / "s.json")], self.environment())
        shown = ""
        while not re.search(r"round (?:[3-9]|\d\d)", shown):
            shown += os.read(terminal, 4096).decode(errors="replace")
        os.write(terminal, b"\x03")
        try:
            while block := os.read(terminal, 65536).decode(errors="replace"):
                shown += block
        except OSError:  # the terminal is gone with its last process
            pass
        _, status = os.waitpid(child, 0)
        self.assertEqual(128 + signal.SIGINT, os.waitstatus_to_exitcode(status), shown)
        self.assertIn("it was stopped", shown)
        self.assertTrue(self.rows(json.loads((self.folder / "s.json").read_text()), "sweep.all_reduce"))
        self.assertFalse((self.folder / "state/gradsync-doctor/profiles").exists())


PYTHON = os.environ.get("GSD_TORCH_PYTHON")


@unittest.skipUnless(PYTHON, "no Python with torch was found (make test TORCH_PYTHON=/path/to/python)")
class RunFindsIt(SweepCase):
    JOB = [str(doctor.ROOT / "samples/ddp_healthy.py"), "--steps", "25"]

    def test_run_says_which_profile_it_used_or_how_to_make_one(self):
        report, _ = self.run_job(PYTHON, *self.JOB)
        [entry] = self.coverage(report, "fabric profile")
        self.assertEqual("gradsync-doctor sweep --ranks 2 --backend gloo", entry["hint"])
        kept = saved_sweep(smooth)
        kept["command"], kept["run"]["hosts"] = "profile", [socket.gethostname()]
        kept["series"] = [{"name": "fabric_fit", "columns": ["operation", "from_bytes", "to_bytes", "alpha_us", "us_per_mib"],
                           "rows": [["all_reduce", 1024, 1 << 26, 40.0, 500.0]]}]
        (self.folder / "state/gradsync-doctor/profiles").mkdir(parents=True)
        self.write("state/gradsync-doctor/profiles/0123456789abcdef.json", kept)
        report, _ = self.run_job(PYTHON, *self.JOB, options=("-o", self.folder / "recording"))
        self.assertEqual([], self.coverage(report, "fabric profile"))
        self.assertIn("gloo, 2 ranks on " + socket.gethostname(), report["facts"]["fabric.profile"])
        self.assertTrue(list((self.folder / "recording/profiles").iterdir()))
        again = json.loads(self.doctor("analyze", "--json", "-", self.folder / "recording").stdout)
        self.assertEqual(report["facts"]["fabric.profile"], again["facts"]["fabric.profile"])

    def test_a_named_file_that_is_no_profile(self):
        done = self.doctor("run", "--fabric", self.write("x.json", "{}"), "--", "true")
        self.assertSays(done, 3, "--fabric", "x.json")
        done = self.doctor("run", "--loads", "/nonexistent", "--", "true")
        self.assertSays(done, 3, "--loads", "/nonexistent")


if __name__ == "__main__":
    unittest.main()
