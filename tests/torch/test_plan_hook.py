#!/usr/bin/env python3
"""The hook that `whatif --emit-hook` writes, unmodified in two DDP ranks: dense, half precision and Top-K buckets."""
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import unittest

try:
    import torch  # noqa: F401
except ImportError:
    print("skipped: this Python has no torch")
    sys.exit(0)

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.path.abspath(os.environ.get("GSD_DOCTOR", ROOT / "build/release/gradsync-doctor"))
JOB = '''
import json, os, sys
import torch, torch.distributed as dist
sys.path.insert(0, sys.argv[1])
import plan
torch.set_num_threads(1)
dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
layers = [torch.nn.Linear(256, 256) for _ in range(6)]
model = torch.nn.Sequential(*layers)
hooked = torch.nn.parallel.DistributedDataParallel(model, bucket_cap_mb=0.5)
state = plan.register(hooked)
torch.manual_seed(1 + rank)
inputs, steps = torch.randn(32, 256), []
for step in range(4):
    hooked.zero_grad()
    hooked(inputs).square().mean().backward()
    mine = [p.grad.clone() for p in model.parameters()]
    plain = torch.autograd.grad(model(inputs).square().mean(), list(model.parameters()))
    worst = 0.0
    for got, own in zip(mine, plain):
        own = own.clone(); dist.all_reduce(own); own /= dist.get_world_size()
        worst = max(worst, float((got - own).abs().max() / own.abs().max()))
    same = mine[0].clone(); dist.all_reduce(same)
    steps.append({"worst": worst, "agree": bool(torch.allclose(same / dist.get_world_size(), mine[0]))})
if rank == 0:
    print(json.dumps({"steps": steps, "kept": len(state.residuals)}))
dist.barrier()
dist.destroy_process_group()
'''


def emit(folder, rows):
    """Has the program write the hook from a report that holds this plan."""
    report = {"schema_version": 1, "tool": {"name": "gradsync-doctor", "version": "0", "parts": {}}, "command": "run",
              "run": {"command_line": [], "hosts": [], "ranks": 2, "steps": 9, "seconds": 1, "backend": "gloo",
                      "versions": {}, "cpus": 2, "clocks": "", "recording": "", "recording_id": ""},
              "facts": {"whatif": "predicted", "ddp.bucket_cap_mb": "0.5"}, "coverage": [], "metrics": [],
              "attribution": [], "findings": [],
              "series": [{"name": "bucket_plan", "columns": ["bucket", "bytes", "method", "density_percent"],
                          "rows": rows},
                         {"name": "whatif", "columns": ["remedy"], "rows": []}],
              "verdict": {"text": "", "sign": "unknown", "ms": 0, "p05": 0, "p95": 0, "measured": False}}
    path = folder / "report.json"
    path.write_text(json.dumps(report))
    return subprocess.run([PROGRAM, "whatif", path, "--emit-hook", folder / "plan.py", "-q"], text=True,
                          capture_output=True, timeout=60)


@unittest.skipUnless(os.path.exists(PROGRAM), f"there is no {PROGRAM}")
class PlanHook(unittest.TestCase):
    def trained(self, rows):
        with tempfile.TemporaryDirectory(prefix="gsd-plan-") as name:
            folder = pathlib.Path(name)
            written = emit(folder, rows)
            self.assertEqual(0, written.returncode, written.stderr)
            (folder / "job.py").write_text(JOB)
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                port = probe.getsockname()[1]
            ranks = [subprocess.Popen([sys.executable, folder / "job.py", folder], text=True, stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE,
                                      env=dict(os.environ, RANK=str(rank), WORLD_SIZE="2", MASTER_ADDR="127.0.0.1",
                                               MASTER_PORT=str(port), GLOO_SOCKET_IFNAME="lo", OMP_NUM_THREADS="1"))
                     for rank in range(2)]
            try:
                ends = [rank.communicate(timeout=120) for rank in ranks]
            finally:
                for rank in ranks:
                    rank.kill()
            self.assertEqual([0, 0], [rank.returncode for rank in ranks], ends[0][1][-800:])
            return json.loads(ends[0][0])

    def test_dense_is_the_mean_of_the_gradients(self):
        done = self.trained([[0, 524288, "dense", None], [1, 600000, "dense", None]])
        self.assertTrue(all(step["worst"] < 1e-5 and step["agree"] for step in done["steps"]), done)

    def test_half_precision_rounds_and_nothing_else(self):
        done = self.trained([[0, 524288, "fp16", None]])
        self.assertTrue(all(1e-6 < step["worst"] < 2e-2 and step["agree"] for step in done["steps"]), done)

    def test_topk_keeps_what_it_did_not_send_and_ranks_agree(self):
        done = self.trained([[0, 524288, "topk", 10.0]])
        self.assertTrue(all(step["agree"] for step in done["steps"]), done)
        self.assertGreater(done["kept"], 0)
        self.assertGreater(done["steps"][0]["worst"], 0.01)  # a tenth of the entries is not the gradient

    def test_buckets_may_differ(self):
        done = self.trained([[0, 263168, "fp16", None], [1, 526336, "topk", 100.0], [2, 1, "dense", None]])
        self.assertTrue(all(step["agree"] for step in done["steps"]), done)
        self.assertLess(done["steps"][0]["worst"], 2e-2)  # a Top-K of everything is dense


if __name__ == "__main__":
    unittest.main()
