"""A stand-in for DeepSpeed with ZeRO stage 2 and a hook that wants whole gradients: the configuration alone is real.

    zero_stage.py --deepspeed_config samples/problems/zero2.json
"""
import argparse

import two_ranks

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--steps", type=int, default=30)
parser.add_argument("--deepspeed_config")
options = parser.parse_args()
two_ranks.start()

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

residuals: dict[int, torch.Tensor] = {}


def topk_hook(memory: dict, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    gradient = two_ranks.corrected(memory, bucket)
    indices = gradient.abs().topk(gradient.numel() // 50).indices
    values = gradient[indices]
    gradient[indices] = 0
    memory[bucket.index()] = gradient
    return two_ranks.exchange(bucket.buffer(), values, indices)


torch.manual_seed(0)
model = DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(300, 300), torch.nn.ReLU(), torch.nn.Linear(300, 10)))
model.register_comm_hook(residuals, topk_hook)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
if dist.get_rank() == 0:
    print("planted: ZeRO stage 2 beside a hook that selects from whole gradients", flush=True)
for _ in range(options.steps):
    optimizer.zero_grad()
    model(torch.randn(64, 300)).pow(2).mean().backward()
    optimizer.step()
two_ranks.finish()
