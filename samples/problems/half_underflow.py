"""Half precision without a loss scale: most gradients are smaller than its smallest number and become zero."""
import argparse

import two_ranks

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--steps", type=int, default=60)
options = parser.parse_args()
two_ranks.start()

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import fp16_compress_hook
from torch.nn.parallel import DistributedDataParallel

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(300, 300), torch.nn.ReLU(), torch.nn.Linear(300, 10))
model = DistributedDataParallel(model)
model.register_comm_hook(None, fp16_compress_hook)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)  # indifferent to the scale of gradients, but not to zeros
torch.manual_seed(1 + dist.get_rank())
if dist.get_rank() == 0:
    print("planted: gradients below 2^-25 in half precision", flush=True)
for _ in range(options.steps):
    optimizer.zero_grad()
    (model(torch.randn(1000, 300)) * 1e-3).pow(2).mean().mul(1e-2).backward()
    optimizer.step()
two_ranks.finish()
