"""Half precision that sums before it divides, under a loss scale that is too large: infinity, then NaN for good."""
import argparse

import two_ranks

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--steps", type=int, default=70)
options = parser.parse_args()
two_ranks.start()

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

LOSS_SCALE = 2.0 ** 24


def half_hook(_, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    buffer, world = bucket.buffer(), dist.get_world_size()

    def divide(future):
        return future.value()[0].to(buffer.dtype) / world

    return dist.all_reduce(buffer.half(), async_op=True).get_future().then(divide)


torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(300, 300), torch.nn.ReLU(), torch.nn.Linear(300, 10))
model = DistributedDataParallel(model)
model.register_comm_hook(None, half_hook)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
torch.manual_seed(1 + dist.get_rank())
if dist.get_rank() == 0:
    print("planted: sums of half precision that overflow", flush=True)
for _ in range(options.steps):
    optimizer.zero_grad()
    (model(torch.randn(1000, 300)).pow(2).mean() * LOSS_SCALE).backward()
    for parameter in model.parameters():
        parameter.grad.div_(LOSS_SCALE)
    optimizer.step()
two_ranks.finish()
