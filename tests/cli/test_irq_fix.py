#!/usr/bin/env python3
"""irq --fix and --undo, the real thing on an interrupt of this machine.

It is a virtio network queue; what a test changes it puts back, also when it fails. Without root, without such an
interrupt or with one CPU only, the tests skip and say so."""
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import threading
import time
import unittest

import doctor


def network_irq():
    """The number of a virtio network queue whose mask root may write, or why there is none."""
    if os.geteuid() != 0:
        return None, "needs root"
    online = pathlib.Path("/sys/devices/system/cpu/online").read_text().strip()
    if online == "0":
        return None, "needs two CPUs"
    for line in pathlib.Path("/proc/interrupts").read_text().splitlines():
        words = line.split()
        if not words or "virtio" not in words[-1] or "input" not in words[-1] or ".0" not in words[-1]:
            continue
        path = pathlib.Path(f"/proc/irq/{words[0].rstrip(':')}/smp_affinity_list")
        if not path.exists() or not path.stat().st_mode & 0o222:
            continue
        try:
            path.write_text(path.read_text())
        except OSError as error:
            return None, f"{path}: {error.strerror}"
        return int(words[0].rstrip(":")), ""
    return None, "no interrupt of a virtio network queue with a mask that may change"


class RealInterrupt(doctor.TestCase):
    def setUp(self):
        super().setUp()
        self.irq, why = network_irq()
        if self.irq is None:
            self.skipTest(why)
        self.base = pathlib.Path(f"/proc/irq/{self.irq}")
        self.mask, self.cpu = self.placement()
        self.other = "0" if self.cpu != "0" else "1"
        self.journal = self.folder / "journal"
        self.poking = threading.Event()
        poker = threading.Thread(target=self.poke)
        poker.start()
        self.addCleanup(poker.join)
        self.addCleanup(self.poking.set)
        self.addCleanup(self.put_back)

    def placement(self):
        return [(self.base / name).read_text().strip() for name in ("smp_affinity_list", "effective_affinity_list")]

    def poke(self):
        """Makes the interrupt come: the gateway answers to what nobody there listens for."""
        routes = pathlib.Path("/proc/net/route").read_text().splitlines()
        gateway = next((bytes.fromhex(words[2])[::-1] for words in map(str.split, routes)
                        if len(words) > 2 and words[1] == "00000000"), None)
        sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        while not self.poking.wait(0.05):
            if gateway:
                try:
                    sender.sendto(b"x", (socket.inet_ntoa(gateway), 9))
                except OSError:
                    pass
        sender.close()

    def put_back(self):
        if self.placement() == [self.mask, self.cpu]:
            return
        (self.base / "smp_affinity_list").write_text(self.cpu)
        for _ in range(40):
            if self.placement()[1] == self.cpu:
                break
            time.sleep(0.05)
        (self.base / "smp_affinity_list").write_text(self.mask)

    def fix(self, *more):
        return self.doctor("irq", "--fix", "--irq", self.irq, "--cpus", self.other, "--duration", "1",
                           "--verify-seconds", "2", "--journal", self.journal, *more)

    def test_fix_moves_it_and_undo_restores_list_and_cpu(self):
        done = self.fix("--keep")
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        self.assertEqual(self.other, self.placement()[0])
        came = self.placement()[1] == self.other
        self.assertIn("moved" if came else "pending", done.stdout)
        journal = next(self.journal.iterdir())
        self.assertEqual(0o600, journal.stat().st_mode & 0o777)
        self.assertIn("earlier irq --fix is in place",
                      self.doctor("irq", "--duration", "0", "--journal", self.journal, "-v").stdout)
        undone = self.doctor("irq", "--undo", "--journal", self.journal)
        self.assertEqual(0, undone.returncode, undone.stdout + undone.stderr)
        self.assertIn("restored", undone.stdout)
        self.assertEqual(self.mask, self.placement()[0])
        if "has not moved it back" not in undone.stdout:
            self.assertEqual(self.cpu, self.placement()[1])
        self.assertEqual([], list(self.journal.iterdir()))

    def test_without_a_difference_everything_is_as_before(self):
        done = self.fix()
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        self.assertIn("no difference shown", done.stdout)
        self.assertEqual(self.mask, self.placement()[0])
        self.assertEqual([], list(self.journal.iterdir()))

    def start(self):
        running = subprocess.Popen(
            [doctor.PROGRAM, "irq", "--fix", "--keep", "--irq", str(self.irq), "--cpus", self.other, "--duration", "1",
             "--verify-seconds", "1", "--journal", self.journal], env=self.environment(), text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(running.communicate)
        self.addCleanup(running.kill)  # before the placement is put back, should the test have failed
        return running

    def wait_until_written(self, running):
        for _ in range(600):
            if self.placement()[0] == self.other:
                return
            time.sleep(0.02)
        running.kill()
        self.fail("nothing was written: " + str(running.communicate()))

    def test_a_signal_in_the_middle_puts_it_back(self):
        running = self.start()
        self.wait_until_written(running)
        running.send_signal(signal.SIGINT)
        output = running.communicate(timeout=60)
        self.assertEqual(128 + signal.SIGINT, running.returncode, output)
        self.assertEqual(self.mask, self.placement()[0])
        self.assertEqual([], list(self.journal.iterdir()))

    def test_a_doctor_that_died_in_the_middle_is_undone_by_the_next(self):
        running = self.start()
        self.wait_until_written(running)
        running.kill()
        running.communicate()
        self.assertEqual(self.other, self.placement()[0])
        said = self.doctor("irq", "--duration", "0", "--journal", self.journal)
        self.assertIn("ended in the middle", said.stdout)
        self.assertIn("irq --undo", said.stdout)
        again = self.fix()
        self.assertSays(again, 125, "earlier change is still in place", "gradsync-doctor irq --undo")
        self.assertEqual(0, self.doctor("irq", "--undo", "--journal", self.journal).returncode)
        self.assertEqual(self.mask, self.placement()[0])

    def in_own_mounts(self, script):
        """Runs a shell script in a mount namespace of its own: nothing outside it is changed."""
        if shutil.which("unshare") is None:
            self.skipTest("needs unshare")
        return subprocess.run(["unshare", "-m", "sh", "-c", script], env=self.environment(), text=True, timeout=120,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def test_a_read_only_proc_as_in_a_container(self):
        done = self.in_own_mounts(
            "mount --bind /proc/irq /proc/irq && mount -o remount,ro,bind /proc/irq || exit 77; "
            f"exec {doctor.PROGRAM} irq --fix --irq {self.irq} --cpus {self.other} --duration 0.2 --journal {self.journal}")
        if done.returncode == 77:
            self.skipTest("cannot mount here")
        self.assertEqual(21, done.returncode, done.stdout + done.stderr)
        self.assertIn("read-only here, as in a container", done.stdout)
        self.assertIn("run it on the host", done.stdout)
        self.assertEqual(self.mask, self.placement()[0])
        self.assertFalse(self.journal.exists())

    def test_without_the_right_to_write(self):
        if shutil.which("setpriv") is None:
            self.skipTest("needs setpriv")
        self.folder.chmod(0o777)
        done = subprocess.run(
            ["setpriv", "--reuid", "65534", "--clear-groups", doctor.PROGRAM, "irq", "--fix", "--irq", str(self.irq),
             "--cpus", self.other, "--duration", "0.2", "--journal", str(self.journal)],
            env=self.environment(), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
        if done.returncode in (1, 126, 127):
            self.skipTest("another user cannot start the program here")
        self.assertEqual(21, done.returncode, done.stdout + done.stderr)
        self.assertIn("only uid 0 of the host", done.stdout)
        self.assertIn(f"echo {self.other} >/proc/irq/{self.irq}/smp_affinity_list", done.stdout)

    def test_another_owner_that_moves_it_back(self):
        running = self.start()
        self.wait_until_written(running)
        time.sleep(2)
        (self.base / "smp_affinity_list").write_text(self.mask)
        output, errors = running.communicate(timeout=60)
        self.assertEqual(22, running.returncode, output + errors)
        self.assertIn("another owner", output)
        self.assertEqual(self.mask, self.placement()[0])

    def test_irqbalance_moves_it_back_and_is_named(self):
        balancer = shutil.which("irqbalance", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
        if balancer is None:
            self.skipTest("needs irqbalance")
        policy = self.folder / "policy"  # every other interrupt of this machine is left alone
        policy.write_text(f'#!/bin/sh\n[ "$2" = {self.irq} ] || echo ban=true\n')
        policy.chmod(0o755)
        (self.base / "smp_affinity_list").write_text("0-1")  # so that its choice is seen
        running = subprocess.Popen([balancer, "--foreground", "-t", "1", f"--policyscript={policy}"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(running.wait)
        self.addCleanup(running.kill)  # before the placement is put back
        for _ in range(100):
            chosen = self.placement()[0]
            if chosen in ("0", "1"):
                break
            time.sleep(0.1)
        else:
            self.skipTest("irqbalance leaves this interrupt where it is")
        self.other = "1" if chosen == "0" else "0"
        fixing = self.start()
        self.wait_until_written(fixing)
        time.sleep(2)
        running.send_signal(signal.SIGHUP)  # as when a device appears: it looks at everything anew
        output, errors = fixing.communicate(timeout=60)

        self.assertEqual(22, fixing.returncode, output + errors)
        self.assertIn("irqbalance", output)
        self.assertEqual(chosen, self.placement()[0])


class ManagedInterrupt(doctor.TestCase):
    def test_it_is_left_alone_with_its_reason(self):
        if os.geteuid() != 0:
            self.skipTest("needs root")
        managed = [path.parent for path in pathlib.Path("/proc/irq").glob("*/smp_affinity_list")
                   if not path.stat().st_mode & 0o222]
        if not managed:
            self.skipTest("no interrupt here that the kernel manages and says so by its file's mode")
        line = managed[0]
        before = (line / "smp_affinity_list").read_text()
        # The very CPU that it has: the kernel refuses that, too, so that nothing can change whatever happens here.
        cpu = (line / "effective_affinity_list").read_text().strip().split(",")[0].split("-")[0]
        done = self.doctor("irq", "--fix", "--irq", line.name, "--cpus", cpu, "--duration", "0.2", "--journal",
                           self.folder / "journal")
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        self.assertIn("managed: the kernel itself spreads it", " ".join(done.stdout.split()))
        self.assertEqual(before, (line / "smp_affinity_list").read_text())
        self.assertFalse((self.folder / "journal").exists())


if __name__ == "__main__":
    unittest.main()
