"""check: what it says of this machine, and of a copy of another one's /proc and /sys."""
import json
import os
import pathlib
import subprocess
import sys
import unittest

import doctor

MAKE_ROOT = pathlib.Path(__file__).resolve().parents[1] / "roots/make_root.py"


class Check(doctor.TestCase):
    def report(self, *options):
        done = self.doctor("check", "--json", "-", *options)
        self.assertEqual(0, done.returncode, done.stderr)
        return json.loads(done.stdout)

    def made_root(self):
        root = self.folder / "root"
        root.mkdir()
        subprocess.run([sys.executable, MAKE_ROOT, "arm64", root, "0"], check=True)
        return root

    def test_this_machine(self):
        report = self.report()
        entry = [e for e in report["coverage"] if e["source"] == "hardware counters"]
        self.assertEqual(1, len(entry))  # one line, whatever there is
        self.assertTrue(entry[0]["reason"])
        self.assertIn("user copies", {e["source"] for e in report["coverage"]})

    @unittest.skipIf(os.path.exists("/dev/nvidiactl"), "this machine has NVIDIA's driver")
    def test_without_a_driver_it_says_what_one_would_give_through_what_and_how_to_get_it(self):
        entries = {entry["source"]: entry for entry in self.report()["coverage"]}
        for source, what in (("GPU activity (CUPTI)", ("no NVIDIA driver here (libcuda.so.1)", "kernels with what launched",
                                                       "theoretical occupancy", "libcupti that the job has loaded")),
                             ("GPU state", ("no NVIDIA driver", "once a second through NVML", "clocks and what holds them",
                                            "Xid events", "processes of other jobs")),
                             ("NCCL profiler plug-in", ("algorithm, protocol and channels", "--nccl kernels adds device times",
                                                        "no NVIDIA driver (libcuda.so.1)")),
                             ("NCCL calls", ("NVTX ranges (sizes from 2.16 on)", "--nccl calls", "no NVIDIA driver"))):  # fmt: skip
            for words in what:
                self.assertIn(words, entries[source]["reason"])
            self.assertIn("install NVIDIA's driver", entries[source]["hint"])
            self.assertIn("--gpus all", entries[source]["hint"])
        self.assertIn("without models and NVLinks of GPUs", entries["topology"]["reason"])
        self.assertIn("libnvidia-ml.so.1", entries["topology"]["hint"])

    def test_a_copy_tells_what_the_machine_is_and_nothing_of_this_one(self):
        root = self.made_root()
        card = root / "sys/bus/pci/devices/0000:3b:00.0"
        for name, text in (("class", "0x030200"), ("current_link_width", "8"), ("max_link_width", "16"),
                           ("current_link_speed", "16.0 GT/s PCIe"), ("max_link_speed", "16.0 GT/s PCIe")):
            card.mkdir(parents=True, exist_ok=True)
            (card / name).write_text(text)
        for options in (("--root", root), ("--proc-root", root / "proc", "--sys-root", root / "sys")):
            report = self.report(*options)
            self.assertEqual({"interrupts", "topology"}, {e["source"] for e in report["coverage"]})
            self.assertEqual("0000:3b:00.0 has 8 lanes at 16 GT/s, of 16 at 16", report["facts"]["topology.narrow_links"])
            self.assertIn("topology.numa_nodes", report["facts"])
        text = self.doctor("check", "--root", root)
        self.assertIn("topology.narrow_links: 0000:3b:00.0 has 8 lanes", text.stdout)

    def test_a_folder_that_is_no_copy(self):
        entries = {e["source"]: e for e in self.report("--root", self.folder)["coverage"]}
        self.assertEqual("unavailable", entries["topology"]["state"])
        self.assertEqual("unavailable", entries["interrupts"]["state"])


class Run(doctor.TestCase):
    def test_what_the_machine_is_is_read_below_the_given_root(self):
        node = self.folder / "sys/devices/system/node"
        for number in range(3):
            (node / f"node{number}").mkdir(parents=True)
        path = self.folder / "report.json"
        done = self.doctor("run", "--json", path, "--root", self.folder, "--", "true")
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertEqual("3", json.loads(path.read_text())["facts"]["topology.numa_nodes"])


if __name__ == "__main__":
    unittest.main()
