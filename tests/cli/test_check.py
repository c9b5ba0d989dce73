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

    def made_root(self, machine="arm64"):
        root = self.folder / machine
        root.mkdir()
        subprocess.run([sys.executable, MAKE_ROOT, machine, root, "0"], check=True)
        return root

    def test_this_machine(self):
        report = self.report()
        self.assertTrue(self.entry(report, "hardware counters")["reason"])  # one line, whatever there is
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

    def test_what_of_a_machine_with_gpus_is_told(self):
        root = self.made_root("gpus")
        report = self.report("--root", root)
        facts = report["facts"]
        self.assertEqual("0000:9a:00.0 has 8 lanes at 32 GT/s, of 16 at 32", facts["topology.narrow_links"])
        self.assertEqual("powersave", facts["topology.governor"])
        self.assertEqual("crio, tuned", facts["topology.irq_owners"])
        self.assertEqual("2", facts["topology.numa_nodes"])
        self.assertEqual("mlx5@0000:1b:00.0 is on node 0, its 4 queues are served on node 0 (4); "
                         "mlx5@0000:9b:00.0 is on node 1, its 4 queues are served on node 0 (4)", facts["irq.numa"])
        series = [one for one in report["series"] if one["name"] == "topology"][0]
        rows = {row["device"]: row for row in (dict(zip(series["columns"], cells)) for cells in series["rows"])}
        self.assertEqual({"ib0", "ib1", "mlx5_0", "mlx5_1", "0000:1a:00.0", "0000:9a:00.0"}, set(rows))
        self.assertEqual(("gpu", 1, 8, 16), tuple(rows["0000:9a:00.0"][c] for c in ("kind", "numa_node", "lanes", "max_lanes")))
        self.assertEqual("400 Gb/sec (4X NDR), InfiniBand, ACTIVE", rows["mlx5_1"]["port"])
        text = self.doctor("check", "--root", root).stdout
        self.assertIn("gpu 0000:9a:00.0: node 1, 8 lanes of 16 at 32 GT/s of 32\n", text)
        self.assertIn("rdma mlx5_0 0000:1b:00.0: node 0, 16 lanes of 16 at 32 GT/s of 32, 400 Gb/sec (4X NDR), InfiniBand", text)
        self.assertIn("nic ib1 0000:9b:00.0: node 1,", text)

    def test_irq_tells_nodes_and_owners_of_the_same_machine(self):
        done = self.doctor("irq", "--root", self.made_root("gpus"), "--duration", 0, "-p", 4000, "--json", "-")
        self.assertEqual(0, done.returncode, done.stderr)
        facts = json.loads(done.stdout)["facts"]
        self.assertEqual("crio (process 901), tuned (process 900)", ", ".join(sorted(facts["irq.owners"].split(", "))))
        self.assertTrue(facts["irq.numa"].endswith("; the training's threads may run on node 0 (1), node 1 (1)"), facts)

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
