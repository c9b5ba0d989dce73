#!/usr/bin/env python3
"""irq as a user meets it: wrong calls, copies of other machines, a storm of interrupts and a quiet machine."""
import json
import os
import signal
import subprocess
import sys
import threading
import time
import unittest

import doctor

MAKE_ROOT = doctor.ROOT / "tests/roots/make_root.py"


class WrongCalls(doctor.TestCase):
    CASES = [
        (["--dry-run"], ["--dry-run", "--fix"]),
        (["--keep"], ["--keep", "--fix"]),
        (["--fix", "--undo"], ["--undo", "--fix"]),
        (["--cpus", "1-"], ["--cpus", "1-", "0-3,8"]),
        (["--cpus", ""], ["--cpus"]),
        (["--duration", "soon"], ["--duration", "soon", "500ms"]),
        (["--verify-seconds", "-1"], ["--verify-seconds", "-1"]),
        (["--device", "eth99", "--duration", "0"], ["--device", "eth99"]),
        (["--irq", "99999", "--duration", "0"], ["--irq", "99999"]),
        (["--irq", "x"], ["--irq", "x"]),
        (["--fix", "--root", "/nonexistent"], ["--root", "copy of another machine"]),
        (["--undo", "--proc-root", "/nonexistent"], ["--undo", "copy of another machine"]),
        (["extra"], ["extra"]),
    ]

    def test_each_says_what_is_wrong(self):
        for arguments, words in self.CASES:
            with self.subTest(arguments):
                self.assertSays(self.doctor("irq", *arguments), 2, *words)

    def test_files_that_are_not_there(self):
        self.assertSays(self.doctor("irq", "--root", "/nonexistent"), 3, "/nonexistent/proc/interrupts")
        self.assertSays(self.doctor("irq", "--undo", "--journal", self.folder), 3, "nothing to undo")
        self.assertSays(self.doctor("irq", "--undo", self.folder / "none.json"), 3, "none.json", "No such file")
        broken = self.folder / "broken.json"
        broken.write_text("{}")
        self.assertSays(self.doctor("irq", "--undo", broken), 3, "broken.json", "not one")


class Copies(doctor.TestCase):
    def copy(self, machine, seconds=0):
        subprocess.run([sys.executable, MAKE_ROOT, machine, self.folder / machine, str(seconds)], check=True)
        return self.folder / machine

    def raise_counters(self, path, stop):
        """Every queue's counter grows, each by its own amount."""
        lines = path.read_text().splitlines()
        grown = 0
        while not stop.wait(0.02):
            grown += 1
            text = [lines[0]]
            for number, line in enumerate(lines[1:]):
                name, rest = line.split(":", 1)
                text.append(f"{name}:" + rest.replace(" 1000 ", f" {1000 + grown * (500 + number)} "))
            fresh = path.with_suffix(".new")
            fresh.write_text("\n".join(text) + "\n")
            os.replace(fresh, path)

    def report(self, *arguments):
        done = self.doctor("irq", "--json", "-", *arguments)
        self.assertEqual(0, done.returncode, done.stderr)
        report = json.loads(done.stdout)
        rows = {series["name"]: [dict(zip(series["columns"], row)) for row in series["rows"]]
                for series in report["series"]}
        return report, rows

    def test_a_machine_of_two_sockets_under_traffic(self):
        root = self.copy("big")
        stop = threading.Event()
        traffic = threading.Thread(target=self.raise_counters, args=(root / "proc/interrupts", stop))
        traffic.start()
        try:
            report, rows = self.report("--root", root, "--duration", "2", "-p", 4000)
        finally:
            stop.set()
            traffic.join()
        self.assertNotIn("stand still", self.entry(report, "interrupts")["reason"])
        moves = [row for row in rows["irq_plan"] if row["decision"] == "move"]
        self.assertGreaterEqual(len(moves), 15)
        for move in moves:
            self.assertEqual("mlx5@0000:1b:00.0", move["device"])
            self.assertNotIn(move["to"], (0, 2, 50), move)
            self.assertTrue(move["to"] < 24 or 48 <= move["to"] < 72, move)
            self.assertEqual(f"echo {move['to']} >/proc/irq/{move['irq']}/smp_affinity_list", move["do"])
            self.assertEqual(f"echo 0-95 >/proc/irq/{move['irq']}/smp_affinity_list", move["undo"])

    def test_a_copy_that_stands_still_is_planned_by_queues(self):
        report, rows = self.report("--root", self.copy("big"), "--duration", "0")
        self.assertGreaterEqual(sum(row["decision"] == "move" for row in rows["irq_plan"]), 15)
        self.assertIn("stand still", self.entry(report, "interrupts")["reason"])

    def test_the_picture_fits_every_width_and_dumb_terminals(self):
        root = self.copy("big")
        for columns in (40, 60, 80, 100, 160):
            for locale in ("C", "C.UTF-8"):
                done = self.doctor("irq", "--root", root, "--duration", "0", "-v", COLUMNS=str(columns), LC_ALL=locale)
                self.assertEqual(0, done.returncode, done.stderr)
                self.assertIn("INTERRUPTS OF QUEUES", done.stdout)
                for line in done.stdout.splitlines():
                    self.assertLessEqual(len(line), columns, line)
                if locale == "C":
                    self.assertTrue(done.stdout.isascii())

    def test_machines_without_findings(self):
        for machine in ("arm64", "holes", "container"):
            report, _ = self.report("--root", self.copy(machine), "--duration", "0")
            self.assertEqual([], doctor.fired(report))

    def test_a_dry_run_writes_nothing(self):
        root = self.copy("big")
        before = (root / "proc/irq/101/smp_affinity_list").read_text()
        done = self.doctor("irq", "--root", root, "--duration", "0", "--fix", "--dry-run", "--journal", self.folder / "j")
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertEqual(before, (root / "proc/irq/101/smp_affinity_list").read_text())
        self.assertFalse((self.folder / "j").exists())


class Storm(doctor.TestCase):
    """One read at a time past the page cache: an interrupt of the disk for each."""

    STORM = "while :; do dd if=\"$1\" of=/dev/null bs=4k iflag=direct 2>/dev/null || exit 1; done"

    def begin_storm(self):
        path = self.folder / "storm"
        path.write_bytes(os.urandom(1 << 24))
        with open(path, "rb") as file:
            os.fsync(file.fileno())
        reader = subprocess.Popen(["sh", "-c", self.STORM, "sh", str(path)], start_new_session=True)
        self.addCleanup(self.end_storm, reader)
        time.sleep(0.3)
        if reader.poll() is not None:
            self.skipTest("files here cannot be read past the page cache")

    @staticmethod
    def end_storm(reader):
        if reader.poll() is None:
            os.killpg(reader.pid, signal.SIGKILL)
        reader.wait()

    def rows(self, tier):
        report = self.folder / "irq.json"
        done = self.doctor("irq", "--tier", tier, "--duration", "3", "--json", report)
        self.assertEqual(0, done.returncode, done.stderr)
        parsed = json.loads(report.read_text())
        series = [one for one in parsed["series"] if one["name"] == "irq"][0]
        rows = [dict(zip(series["columns"], row)) for row in series["rows"]]
        counted = {}
        for row in rows:
            if row["source"] == "/proc/interrupts" and row["role"] in ("queue", "control", "other"):
                counted[row["irq"]] = counted.get(row["irq"], 0) + row["count"]
        busiest = max(counted, key=counted.get)
        if counted[busiest] < 3000:
            self.skipTest(f"reading a file raises no storm here: {counted[busiest]} interrupts")
        return parsed, rows, busiest, counted[busiest]

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_times_and_counts_of_the_device(self):
        self.begin_storm()
        # The two are not read at the same moment: on a machine that is busier than that one look of three has to agree.
        for _ in range(3):
            report, rows, irq, count = self.rows("best")
            times = self.entry(report, "interrupt times")
            if times["tier"] != "A":
                self.skipTest("no eBPF here: " + times["reason"])
            timed = [row for row in rows if row["source"] == "eBPF" and row["irq"] == irq]
            differs = abs(sum(row["count"] for row in timed) - count)
            if differs <= max(20, 0.005 * count):
                break
        self.assertLessEqual(differs, max(20, 0.005 * count))
        microseconds = sum(row["hard_us"] for row in timed) / sum(row["count"] for row in timed)
        share = 100 * count * microseconds * 1e-6 / timed[0]["interval_s"]
        device = timed[0]["device"]
        metrics = {(m["name"], m["scope"]): m["value"] for m in report["metrics"]}
        said = metrics[("irq.time_share_percent", f"device:{device}")]
        self.assertLess(abs(said - share), 0.2 * share)
        self.assertTrue(report["facts"]["irq.costliest"].startswith(device + " takes "), report["facts"])
        rate = metrics[("irq.rate_hz", f"device:{device}")]
        self.assertLess(abs(rate - count / timed[0]["interval_s"]), 0.05 * rate)  # counted once, by two ways
        softirqs = [row for row in rows if row["role"] == "softirq" and row["source"] == "eBPF"]
        self.assertTrue(any(row["soft_us"] > 0 for row in softirqs))

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_rings_tell_times_only_of_what_they_saw(self):
        self.begin_storm()
        report, rows, irq, count = self.rows("B")
        times = self.entry(report, "interrupt times")
        if times["state"] == "unavailable":
            self.skipTest("no perf rings here: " + times["reason"])
        timed = sum(row["count"] for row in rows if row["source"] == "perf rings" and row["irq"] == irq)
        if times["state"] == "collected":
            self.assertGreater(timed, 0.9 * count)
        else:
            self.assertEqual(0, timed)
            self.assertIn("below 95 %", times["reason"])

    def test_without_a_trace(self):
        done = self.doctor("irq", "--tier", "C", "--duration", "0.2", "--json", "-")
        times = self.entry(json.loads(done.stdout), "interrupt times")
        self.assertEqual("unavailable", times["state"])
        self.assertIn("--tier C", times["reason"])


class Numbers(doctor.TestCase):
    """Every number says by its source how it was measured: tier, whether all was seen, and what was lost."""

    FAMILIES = ("irq", "softirq", "softnet", "sched", "host", "nic", "usercopy", "topology")

    def assertEachHasItsSource(self, report):
        told = {}
        for series in report["series"]:
            if series["name"] == "measured_by":
                for row in series["rows"]:
                    row = dict(zip(series["columns"], row))
                    told[(row["metrics"].removesuffix(".*"), row["source"])] = row
        numbers = [m for m in report["metrics"] if m["name"].split(".")[0] in self.FAMILIES]
        self.assertTrue(numbers)
        for metric in numbers:
            row = told[(metric["name"].split(".")[0], metric["source"])]
            self.assertIn(row["tier"], ("A", "B", "C"), metric)
            self.assertIn(row["state"], ("collected", "partial"), metric)
            self.assertIsInstance(row["lost"], int, metric)
        for series in report["series"]:
            if series["name"] in ("irq", "sched"):
                self.assertTrue(all(dict(zip(series["columns"], row))["source"] for row in series["rows"]))

    def test_of_irq(self):
        for tier in ("best", "C"):
            done = self.doctor("irq", "--duration", "0.5", "--tier", tier, "--journal", self.folder, "--json", "-")
            self.assertEqual(0, done.returncode, done.stderr)
            self.assertEachHasItsSource(json.loads(done.stdout))

    def test_of_run(self):
        report, done = self.run_job(sys.executable, "-c", "import time; [sum(range(10**5)) for _ in range(300)]; time.sleep(0.7)")
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertEachHasItsSource(report)


class QuietMachine(doctor.TestCase):
    def test_nothing_fires(self):
        for _ in range(5):
            done = self.doctor("irq", "--duration", "0.3", "--json", "-", "--journal", self.folder)
            self.assertEqual(0, done.returncode, done.stderr)
            self.assertEqual([], doctor.fired(json.loads(done.stdout)))


if __name__ == "__main__":
    unittest.main()
