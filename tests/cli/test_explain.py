#!/usr/bin/env python3
"""explain: pages of rules and remedies, and what it says of commands that people type (tests/cli/explained/*.txt).

GSD_UPDATE_GOLDEN=1 rewrites the texts; read the difference before committing it.
"""
import json
import os
import re
import unittest

import doctor

HERE = doctor.ROOT / "tests/cli/explained"
COMMANDS = {
    "nsys": ("--nsys", "NSYS_CUDA_TRACE=1 nsys profile -t nvtx,cuda,nvsmi --capture-range=cudaProfiler --duration60 "
                       "--sample=cpu,mem --mpi-mode=openmpi --trace-fork-before-exec -o report.qdrep python train.py"),
    "nccl_tests": ("--nccl-tests", "for s in 1K 2K 4K 8K 1M; do ./build/all_reduce_perf -b $s -e $s -g 1 -w 20 -n 100 -c 0 "
                                   "nccl_benchmark.log; done"),
    "perf": ("--perf", "perf sched record -a sleep 10; perf sched latency -H; perf record -e syscalls:sys_enter_copy_to_user"),
    "ncu": ("--nsys", "ncu -k regex:ncclKernel_AllReduce --set full mpirun -np 2 ./app"),
}


class OwnCommands(doctor.TestCase):
    def test_what_rules_advise_to_call_exists(self):
        """Each `gradsync-doctor COMMAND --option` in a text of rules/."""
        helps, called = {}, 0
        for file in sorted((doctor.ROOT / "rules").rglob("*.*")):
            text = re.sub(r"\\\n\s*", "", file.read_text())
            for command, rest in re.findall(r"gradsync-doctor ([a-z]+)((?: +[^\n\"`;,:)]*)?)", text):
                if command not in helps:
                    done = self.doctor(command, "--help")
                    self.assertEqual(0, done.returncode, f"{file.name}: gradsync-doctor {command}")
                    helps[command] = done.stdout
                for option in re.findall(r"(?<!\S)--[a-z][a-z-]*", rest.split(" -- ")[0]):
                    called += 1
                    self.assertRegex(helps[command], re.escape(option) + r"(?![a-z-])", f"{file.name}: {command} {option}")
        self.assertGreater(called, 20)


class Commands(doctor.TestCase):
    def test_texts(self):
        for name, (option, command) in COMMANDS.items():
            with self.subTest(name):
                done = self.doctor("explain", option, command)
                self.assertEqual((0, ""), (done.returncode, done.stderr))
                golden = HERE / (name + ".txt")
                if os.environ.get("GSD_UPDATE_GOLDEN"):
                    golden.write_text(done.stdout)
                self.assertEqual(golden.read_text(), done.stdout)

    def test_json_carries_the_same_and_the_gate_counts_it(self):
        option, command = COMMANDS["nsys"]
        done = self.doctor("explain", option, command, "--json", "-", "--fail-on", "error")
        self.assertEqual(10, done.returncode, done.stderr)
        report = json.loads(done.stdout)
        self.assertEqual("explain", report["command"])
        self.assertEqual({"nsys-command"}, {finding["rule"] for finding in report["findings"]})
        self.assertEqual({"fired"}, {finding["state"] for finding in report["findings"]})
        self.assertEqual(command, report["facts"]["command.given"])
        again = self.doctor("explain", option, report["facts"]["command.right"], "--fail-on", "info")
        self.assertEqual(0, again.returncode, again.stdout)

    def test_a_file_and_a_clean_command(self):
        path = self.folder / "explained.json"
        done = self.doctor("explain", "--perf", "perf sched latency -p", "--json", path, "--fail-on", "info")
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertIn("nothing is wrong with it", done.stdout)
        finding, = json.loads(path.read_text())["findings"]
        self.assertEqual(("perf-command", "clean"), (finding["rule"], finding["state"]))

    def test_what_cannot_be_judged(self):
        for arguments, words in [(("--nsys", "ls -l"), ["no nsys"]), (("--nccl-tests", "iperf3"), ["no program of nccl-tests"]),
                                 (("--perf", "top"), ["no perf"]), (("--nsys", "nsys 'profile"), ["not closed"]),
                                 (("--nsys", "nsys", "--perf", "perf"), ["--perf"]),
                                 (("two-level", "--nsys", "nsys profile x"), ["two-level"]),
                                 (("--json", "-"), ["--json and --fail-on go with"]),
                                 (("--fail-on", "grave", "--nsys", "nsys"), ["grave"])]:
            with self.subTest(arguments):
                done = self.doctor("explain", *arguments)
                self.assertSays(done, 2, *words)
                self.assertEqual("", done.stdout)

    def test_escapes_of_a_terminal_stay_text(self):
        done = self.doctor("explain", "--nsys", "nsys profile --\x1b[31mred ./app")
        self.assertNotIn("\x1b", done.stdout)


class Pages(doctor.TestCase):
    def test_remedies_by_both_names(self):
        listed = self.doctor("explain").stdout
        for page, hook in [("two-level", "two_level_hook.py"), ("histogram-topk", "histogram_topk_hook.py"),
                           ("rdma-bound", None), ("parameter-server", None)]:
            with self.subTest(page):
                self.assertIn(page, listed)
                shown = self.doctor("explain", page)
                self.assertEqual(0, shown.returncode)
                self.assertEqual(shown.stdout, self.doctor("explain", page.replace("-", "_")).stdout)
                for word in ("How", "Pitfalls", "Predicted", "Source"):
                    self.assertIn(word, shown.stdout)
                if hook:
                    self.assertIn("samples/remedies/" + hook, shown.stdout)

    def test_an_unknown_name(self):
        self.assertSays(self.doctor("explain", "three-level"), 2, "three-level", "gradsync-doctor rules")


if __name__ == "__main__":
    unittest.main()
