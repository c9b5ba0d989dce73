#!/usr/bin/env python3
"""A storm of a disk's interrupts by fio, against clocks and counters that are not ours: /proc/interrupts read by the test
itself, and the time in each handler by the kernel's own function tracer, in an instance of its own.

The tracer is asked before and after our look, never during it: two tracers on one event time each other. By that its own
cost is measured: a second instance makes the first one's times longer by one record, and as much of them is its own. So
a handler takes between what the tracer says without that and what it says. The tracer does not lose interrupts of idle
CPUs, as perf's rings do on some kernels. Skips, and says so: without root, fio, tracefs or eBPF, and where reading a
file raises no storm."""
import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import time
import unittest

import doctor

SECONDS = 3
FEWEST = 3000   # interrupts in a look: a storm
EVENT = re.compile(r"\[(\d+)\]\s+\S+\s+(\d+)\.(\d{6}): irq_handler_(entry|exit): irq=(\d+) ")


def counts():
    """Interrupts of devices by their number, over all CPUs."""
    found = {}
    lines = pathlib.Path("/proc/interrupts").read_text().splitlines()
    cpus = len(lines[0].split())
    for line in lines[1:]:
        name, rest = line.split(":", 1)
        if name.strip().isdigit():
            found[int(name)] = sum(int(word) for word in rest.split()[:cpus])
    return found


def grown(before, after):
    return {irq: count - before.get(irq, 0) for irq, count in after.items()}


class Tracer:
    """The kernel's tracer of one interrupt, in an instance that is removed again."""

    def __init__(self, test, mount, name):
        self.folder = mount / "instances" / f"gsd-test-{name}-{os.getpid()}"
        try:
            self.folder.mkdir()
        except OSError as error:
            test.skipTest(f"no instance of the kernel's tracer: {error.strerror}")
        test.addCleanup(self.folder.rmdir)
        if not (self.folder / "events/irq/irq_handler_entry").exists():
            test.skipTest("this kernel has no trace points of interrupts")
        self.write("buffer_size_kb", 4096)

    def write(self, name, value):
        (self.folder / name).write_text(f"{value}\n")

    @contextlib.contextmanager
    def tracing(self, irq):
        events = [f"events/irq/irq_handler_{event}" for event in ("entry", "exit")]
        for event in events:
            self.write(event + "/filter", f"irq=={irq}")
        self.write("trace", "")
        try:
            for event in events:
                self.write(event + "/enable", 1)
            yield
        finally:
            for event in events:
                self.write(event + "/enable", 0)

    def microseconds(self, irq):
        """Mean time in a handler, by pairs; the text has whole us, over thousands of pairs they even out."""
        with self.tracing(irq):
            time.sleep(1.5)
        began, times = {}, []
        with open(self.folder / "trace", encoding="utf-8", errors="replace") as lines:
            for line in lines:
                seen = EVENT.search(line)
                if seen is None or int(seen[5]) != irq:
                    continue
                at = int(seen[2]) * 1_000_000 + int(seen[3])
                if seen[4] == "entry":
                    began[seen[1]] = at
                elif seen[1] in began:
                    times.append(at - began.pop(seen[1]))
        self.write("trace", "")
        return sum(times) / len(times) if len(times) >= 1000 else None


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class Storm(doctor.TestCase):
    def begin_storm(self):
        if shutil.which("fio") is None:
            self.skipTest("needs fio")
        data = self.folder / "data"
        data.write_bytes(os.urandom(1 << 24))
        with open(data, "rb") as file:
            os.fsync(file.fileno())
        fio = subprocess.Popen(["fio", "--name=storm", f"--filename={data}", "--rw=randread", "--bs=4k", "--direct=1",
                                "--ioengine=psync", "--numjobs=1", "--time_based", "--runtime=120"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.folder)
        self.addCleanup(fio.wait)
        self.addCleanup(fio.terminate)
        time.sleep(1)
        if fio.poll() is not None:
            self.skipTest("fio cannot read files past the page cache here")
        before = counts()
        time.sleep(1)
        came = grown(before, counts())
        irq = max(came, key=came.get)
        if came[irq] < FEWEST // SECONDS:
            self.skipTest(f"reading a file raises no storm here: {came[irq]} interrupts/s")
        return irq

    def look(self, irq):
        """Our report, and how many interrupts came around it by the test's own reading."""
        report = self.folder / "irq.json"
        before = counts()
        done = self.doctor("irq", "--duration", SECONDS, "--json", report, "--journal", self.folder / "journal")
        outer = grown(before, counts())[irq]
        self.assertEqual(0, done.returncode, done.stderr)
        return json.loads(report.read_text()), outer, done.stdout

    def tracers(self):
        mount = self.folder / "tracing"
        mount.mkdir()
        if subprocess.run(["mount", "-t", "tracefs", "none", mount], stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("tracefs cannot be mounted here")
        self.addCleanup(subprocess.run, ["umount", "--lazy", mount])
        return [Tracer(self, mount, name) for name in ("clock", "load")]

    def test_the_device_is_named_with_its_share(self):
        irq = self.begin_storm()
        clock, load = self.tracers()
        tried = []
        for _ in range(3):  # a busy neighbour of a virtual machine changes what a handler takes from one second to the next
            before = clock.microseconds(irq)
            report, outer, printed = self.look(irq)
            after = clock.microseconds(irq)
            with load.tracing(irq):
                twice = clock.microseconds(irq)
            if None in (before, after, twice):
                self.skipTest("the kernel's tracer saw no storm")
            times = self.entry(report, "interrupt times")
            if times["tier"] != "A":
                self.skipTest("no eBPF here: " + times["reason"])
            series = [one for one in report["series"] if one["name"] == "irq"][0]
            rows = [row for row in (dict(zip(series["columns"], cells)) for cells in series["rows"])
                    if row["irq"] == str(irq) and row["source"] == "/proc/interrupts"]
            count, seconds, device = sum(row["count"] for row in rows), rows[0]["interval_s"], rows[0]["device"]
            self.assertLessEqual(count, outer)
            self.assertGreater(count, 0.5 * outer)
            metrics = {(metric["name"], metric["scope"]): metric["value"] for metric in report["metrics"]}
            said = metrics["irq.time_share_percent", f"device:{device}"]
            self.assertTrue(report["facts"]["irq.costliest"].startswith(device + " takes "), report["facts"])
            self.assertIn(device + " takes", " ".join(printed.split()))
            most = (before + after) / 2
            least = max(0, most - max(0, twice - after))
            shares = [1e-4 * count * microseconds / seconds for microseconds in (least, most)]
            tried.append(f"{said:.3f} % said, {shares[0]:.3f} to {shares[1]:.3f} % by {count} x {least:.2f} to {most:.2f} us")
            if 0.8 * shares[0] <= said <= 1.2 * shares[1]:
                return
        self.fail("; ".join(tried))


if __name__ == "__main__":
    unittest.main()
