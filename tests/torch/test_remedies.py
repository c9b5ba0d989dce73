#!/usr/bin/env python3
"""The hooks of samples/remedies: what they select, send and keep, and that training with them converges and agrees."""
import json
import pathlib
import socket
import subprocess
import sys
import unittest

from support import observed

HOOKS = pathlib.Path(__file__).resolve().parents[2] / "samples/remedies"
JOB = pathlib.Path(__file__).resolve().parent / "jobs/remedy_cases.py"
sys.path.insert(0, str(HOOKS))
if observed.torch_version() is None or observed.PYTHON != sys.executable:
    print("skipped: this Python has no torch with torch.distributed")
    sys.exit(0)
import torch  # noqa: E402

import histogram_topk_hook as histogram  # noqa: E402
import two_level_hook as two_level  # noqa: E402


SUBNORMAL_BIN = 2.0 ** -134  # 1/256 of the smallest normal number: below it nothing is told apart


class Selection(unittest.TestCase):
    def check(self, values, k):
        """k places, each once, and none left out that is clearly larger than one that was taken."""
        chosen = histogram.select(values, k)
        self.assertEqual((torch.int32, (k,)), (chosen.dtype, tuple(chosen.shape)))
        self.assertEqual(k, len(set(chosen.tolist())))
        taken = torch.zeros(values.numel(), dtype=torch.bool)
        taken[chosen.long()] = True
        if k < values.numel():
            least, most = values.abs()[taken].min(), values.abs()[~taken].max()
            self.assertGreaterEqual(float(least), float(most) * (1 - 2.0 ** -8) - SUBNORMAL_BIN)

    def test_sizes_and_laws(self):
        torch.manual_seed(0)
        for n in (1, 2, 7, 31, 1000, 100003):
            for values in (torch.randn(n) * 1e-4, torch.randn(n).exp() * torch.randn(n).sign(), torch.zeros(n),
                           torch.randn(n) * 1e-42):  # denormal
                for density in (1e-6, 0.02, 0.5, 1.0):
                    with self.subTest(n=n, density=density):
                        self.check(values, histogram.HistogramTopKState(density).entries(n))

    def test_ties_never_push_out_what_is_larger(self):
        values = torch.ones(5000)
        values[-3:] = torch.tensor([2.0, -9.0, 1.5])
        self.check(values, 100)
        self.assertTrue({4997, 4998, 4999} <= set(histogram.select(values, 100).tolist()))

    def test_device_and_host_find_the_same(self):
        torch.manual_seed(4)
        for k, values in ((50, torch.randn(5000)), (1, torch.zeros(9)), (700, torch.ones(1000))):
            keys = (values.view(torch.int32) >> histogram.MANTISSA_SHIFT) & 0xFFFF
            threshold = keys.sort(descending=True).values[k - 1].view(1)
            above = (keys > threshold).sum().view(1)
            self.assertTrue(torch.equal(histogram.places_on_host(keys, threshold, k),
                                        histogram.places_on_device(keys, threshold, above, k)))

    def test_what_is_not_finite_is_sent(self):
        values = torch.randn(1000)
        values[500], values[501] = float("nan"), float("-inf")
        self.assertTrue({500, 501} <= set(histogram.select(values, 5).tolist()))

    def test_sent_and_kept_make_the_whole(self):
        torch.manual_seed(1)
        residual, sent, total = torch.zeros(10007), torch.zeros(10007), torch.zeros(10007)
        for _ in range(30):
            gradient = torch.randn(10007)
            total += gradient
            message = histogram.compress(residual, gradient, 200)
            self.assertEqual(0, float(residual[message[:200].long()].abs().max()))
            decoded = torch.empty(10007)
            histogram.decompress(decoded, message.view(1, -1))
            sent += decoded
        self.assertLess(float((total - sent - residual).abs().max()), 1e-4)

    def test_wrong_density(self):
        for density in (0, -1, 1.5):
            self.assertRaises(ValueError, histogram.HistogramTopKState, density)


class Signs(unittest.TestCase):
    def test_there_and_back(self):
        torch.manual_seed(2)
        for n in (8, 16, 1000):
            values = torch.randn(n)
            packed = two_level.pack_signs(values)
            self.assertEqual(n // 8, packed.numel())
            self.assertTrue(torch.equal(two_level.unpack_signs(packed), torch.where(values < 0, -1.0, 1.0)))

    def test_sent_and_kept_make_the_whole_and_padding_nothing(self):
        torch.manual_seed(3)
        residual, sent, total = torch.zeros(1008), torch.zeros(1008), torch.zeros(1008)
        sizes = []
        for _ in range(200):
            part = torch.cat([torch.randn(1001) + 0.05, torch.zeros(7)])
            total += part
            message = two_level.encode(part, residual, 1001)
            self.assertEqual(1008 // 8 + 4, message.numel())
            sent += two_level.decode(message)
            sizes.append(float(residual.norm() / part.norm()))
        self.assertLess(float((total - sent - residual)[:1001].abs().max()), 1e-3)
        self.assertEqual(0, float(residual[1001:].abs().max()))
        self.assertLess(sizes[-1], 2 * sizes[20])  # a mean as scale keeps the residual bounded

    def test_what_is_not_finite_shows_and_spoils_no_residual(self):
        residual = torch.ones(8)
        part = torch.tensor([1.0, float("inf"), 0, 0, 0, 0, 0, 0])
        self.assertFalse(torch.isfinite(two_level.decode(two_level.encode(part, residual, 8))).any())
        self.assertTrue(torch.equal(residual, torch.ones(8)))

    def test_hosts_of_different_sizes_are_refused(self):
        self.assertEqual([[0, 2], [1, 3]], two_level.ranks_by_host(["a", "b", "a", "b"]))
        with self.assertRaisesRegex(ValueError, "same number of ranks"):
            two_level.ranks_by_host(["a", "a", "b"])


class Ranks(unittest.TestCase):
    def job(self, case, ranks, **more):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        processes = [subprocess.Popen(
            [sys.executable, str(JOB), str(HOOKS), case],
            env=observed.environment(None, RANK=str(rank), WORLD_SIZE=str(ranks), MASTER_ADDR="127.0.0.1",
                                     MASTER_PORT=str(port), GLOO_SOCKET_IFNAME="lo", LOCAL_RANK=str(rank % 2), **more),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for rank in range(ranks)]
        try:
            said = [process.communicate(timeout=observed.SECONDS) for process in processes]
        finally:
            for process in processes:
                process.kill()
        self.assertEqual([0] * ranks, [process.returncode for process in processes], said)
        return json.loads(said[0][0])

    def check(self, found, unexplained):
        self.assertTrue(found["train"]["equal"], found)
        self.assertLess(found["train"]["last"], 0.1 * found["train"]["first"], found)
        self.assertLess(found["sums"]["unexplained"], unexplained, found)  # what is missing lies in the residuals

    def test_histogram_topk(self):
        found = self.job("histogram", 2)
        self.check(found, 1e-4)
        self.assertGreater(found["sums"]["left"], 0)

    def test_two_levels(self):
        for case, ranks in (("2x2", 4), ("2x1", 2), ("1x2", 2)):
            with self.subTest(case):
                # half precision: 20 steps of gradients around 1, each within 2^-11 twice, and the parts between
                self.check(self.job(case, ranks), 0.05 if case.endswith("2") else 1e-4)

    def test_hosts_are_found_from_the_launcher(self):
        found = self.job("found", 4, LOCAL_WORLD_SIZE="2")
        self.check(found, 0.05)
        self.assertGreater(found["sums"]["left"], 0)  # so there were two hosts


if __name__ == "__main__":
    unittest.main()
