"""What the tests of this folder share: what they need here, namespaces with a link between them, and jobs in these."""
import json
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/cli"))
import doctor  # noqa: E402

PYTHON = os.environ.get("GSD_TORCH_PYTHON") or "/usr/bin/python3"
TWO_HOSTS = str(ROOT / "samples/lab/two_hosts.py")
CANNOT = 77   # exit status of TWO_HOSTS


def works(*command):
    return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


class TestCase(doctor.TestCase):
    def need(self, *programs):
        """Root, and these programs."""
        if os.geteuid() != 0:
            self.skipTest("needs root, for network namespaces")
        for program in programs:
            if shutil.which(program) is None:
                self.skipTest("needs the program " + program)

    def need_torch(self):
        if not works(PYTHON, "-c", "import torch.distributed as d; assert d.is_gloo_available()"):
            self.skipTest("needs PyTorch with gloo")

    def link(self, *ends):
        """Two namespaces, for each of these (namespace, device, address), with a veth link of their own between them."""
        for name, _, _ in ends:
            if not works("ip", "netns", "add", name):
                self.skipTest("network namespaces cannot be made here")
            self.addCleanup(subprocess.run, ["ip", "netns", "delete", name])  # and with it its end of the link
        (near, near_device, _), (far, far_device, _) = ends
        if not works("ip", "link", "add", near_device, "netns", near, "type", "veth", "peer", "name", far_device, "netns", far):
            self.skipTest("veth links cannot be made here")
        for name, device, address in ends:
            for command in (["link", "set", "lo", "up"], ["address", "add", address + "/24", "dev", device],
                            ["link", "set", device, "up"]):
                subprocess.run(["ip", "-n", name, *command], check=True)

    def call(self, *words):
        """What a program that uses TWO_HOSTS did and said: it must end well where a link can be made."""
        done = subprocess.run([str(word) for word in words], env=self.environment(), text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
        if done.returncode == CANNOT:
            self.skipTest(done.stderr.strip().splitlines()[-1])
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        return done

    def measured(self, *words):
        """(report, done) of `run` with these options and words: `-- PYTHON TWO_HOSTS …` for a job over a slow link."""
        report = self.folder / "report.json"
        done = self.call(doctor.PROGRAM, "run", "--deep", "off", "--json", report, *words)
        return json.loads(report.read_text()), done
