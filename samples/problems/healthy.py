"""Nothing is wrong with this one: a regression that converges, with a hook that delivers what it leaves out, or none."""
import argparse

import two_ranks

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--steps", type=int, default=170)
parser.add_argument("--hook", choices=("fp16", "topk", "dense", "none"), default="topk")
parser.add_argument("--seed", type=int, default=0)
options = parser.parse_args()
two_ranks.start()

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.nn.parallel import DistributedDataParallel

residuals: dict[int, torch.Tensor] = {}


def topk_hook(memory: dict, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    """The largest 2 % of a bucket, and what was left out of earlier ones."""
    gradient = two_ranks.corrected(memory, bucket)
    indices = gradient.abs().topk(max(1, gradient.numel() // 50)).indices
    values = gradient[indices]
    gradient[indices] = 0
    memory[bucket.index()] = gradient
    return two_ranks.exchange(bucket.buffer(), values, indices)


torch.manual_seed(options.seed)
model = torch.nn.Sequential(torch.nn.Linear(400, 300), torch.nn.Tanh(), torch.nn.Linear(300, 100), torch.nn.LayerNorm(100),
                            torch.nn.Linear(100, 10))
model = DistributedDataParallel(model)
hooks = {"fp16": (None, default_hooks.fp16_compress_hook), "dense": (None, default_hooks.allreduce_hook),
         "topk": (residuals, topk_hook)}
if options.hook in hooks:
    model.register_comm_hook(*hooks[options.hook])
optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
truth = torch.randn(400, 10, generator=torch.Generator().manual_seed(options.seed)) / 20
torch.manual_seed(1000 * options.seed + dist.get_rank())
for _ in range(options.steps):
    inputs = torch.randn(2500, 400)
    optimizer.zero_grad()
    loss = (model(inputs) - inputs @ truth).pow(2).mean()
    loss.backward()
    optimizer.step()
if dist.get_rank() == 0:
    print(f"loss {loss.item():.4f}", flush=True)
two_ranks.finish()
