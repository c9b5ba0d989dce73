#!/usr/bin/env python3
"""One rank on each of two hosts whose monotonic clocks are 5 s apart, each under a doctor of its own, one recording."""
import json
import subprocess
import unittest

from lab import PYTHON, ROOT, TestCase, doctor, works

HOSTS = {"gsdnode0": ("10.213.77.1", 0), "gsdnode1": ("10.213.77.2", 5)}  # name → address, seconds its clock is ahead


class TwoHosts(TestCase):
    def setUp(self):
        super().setUp()
        self.need("ip", "unshare")
        self.need_torch()
        if not works("unshare", "--uts", "--time", "--monotonic", "5", "--fork", "true"):
            self.skipTest("needs time namespaces (Linux 5.6, util-linux 2.36) that may be made here")
        self.link(*((name, "gsdveth%d" % number, address) for number, (name, (address, _)) in enumerate(HOSTS.items())))

    def start(self, rank, recording):
        name = list(HOSTS)[rank]
        environment = self.environment(
            RANK=str(rank), WORLD_SIZE="2", LOCAL_RANK="0", MASTER_ADDR=HOSTS["gsdnode0"][0], MASTER_PORT="29517",
            GLOO_SOCKET_IFNAME="gsdveth%d" % rank, OMP_NUM_THREADS="1")
        in_host = "hostname %s && exec \"$@\"" % name
        command = ["ip", "netns", "exec", name, "unshare", "--uts", "--time", "--monotonic", str(HOSTS[name][1]), "--fork",
                   "sh", "-c", in_host, "sh", doctor.PROGRAM, "run", "-q", "--deep", "off", "-o", str(recording), "--",
                   PYTHON, str(ROOT / "samples/ddp_straggler.py"), "--steps", "90"]
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def test_the_late_rank_is_named_across_hosts(self):
        recording = self.folder / "recording"
        jobs = [self.start(rank, recording) for rank in (0, 1)]
        said = []
        try:
            said = [job.communicate(timeout=200) for job in jobs]
        finally:
            for job in jobs:
                job.kill()
        self.assertEqual([0, 0], [job.returncode for job in jobs], said)
        self.assertTrue(any("1 other host(s) record into this folder" in errors for _, errors in said), said)

        report_file = self.folder / "report.json"
        done = self.doctor("analyze", recording, "--json", report_file)
        self.assertEqual(0, done.returncode, done.stderr)
        report = json.loads(report_file.read_text())
        values = {(metric["name"], metric["scope"]): metric["value"] for metric in report["metrics"]}
        self.assertEqual(["gsdnode0", "gsdnode1"], report["run"]["hosts"])
        self.assertRegex(report["run"]["clocks"], r"^aligned by the ends of \d+ (all-reduces|collectives), residual p90 \d+ us$")
        self.assertGreater(values["clock.residual_us", "all"], 0)
        # How often and by how much is the machine's affair; who, is not.
        self.assertGreater(values["straggler.last_arrival_percent", "rank:1"],
                           values["straggler.last_arrival_percent", "rank:0"])
        self.assertGreater(values["straggler.late_ms", "rank:1"], 0)
        # A clock that is 5 s ahead is not what makes it late.
        self.assertLess(values["straggler.late_ms", "rank:1"], values["step.time_ms", "all"])
        self.assertGreater(values["attribution.comm_peer_wait_ms", "rank:0"],
                           values["attribution.comm_peer_wait_ms", "rank:1"])
        self.wire_bytes(report, values)

    def wire_bytes(self, report, values):
        """Each host's own interface against its own rank's steps: two ranks send each other half of every all-reduce twice."""
        self.assertEqual("interfaces", report["facts"]["nic.path"])
        handed = values["comm.bytes_per_step", "all"]
        for host in HOSTS:
            with self.subTest(host):
                device = "device:%s/gsdveth%d" % (host, list(HOSTS).index(host))
                sent = values["nic.tx_bytes_per_step", "host:" + host]
                self.assertEqual(sent, values["nic.tx_bytes_per_step", device])  # loopback is no wire
                # Headers and the job's own words are more, the ends of the window may cut a step.
                self.assertGreater(sent, 0.8 * handed)
                self.assertLess(sent, 1.5 * handed)
                self.assertAlmostEqual(100 * handed / sent, values["nic.effective_ratio_percent", "host:" + host], places=6)
        self.assertGreater(values["nic.effective_ratio_percent", "all"], 100 / 1.5)
        self.assertLess(values["nic.effective_ratio_percent", "all"], 100 / 0.8)
        self.assertIn(("nic.retransmit_count", "device:gsdnode1/tcp"), values)
        machines = {row[0] for series in report["series"] if series["name"] == "nic" for row in series["rows"]}
        self.assertEqual(set(HOSTS), machines)
        # What each doctor found stands in one report: what both say once, what they do not by its host.
        hosts_told = [entry for entry in report["coverage"] if entry["reason"].startswith("on gsdnode")]
        self.assertEqual(len(hosts_told), len({(e["source"], e["reason"]) for e in hosts_told}))


if __name__ == "__main__":
    unittest.main()
