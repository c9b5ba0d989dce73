"""Gradients rounded to whole steps of a fixed size: the error stays as it is while the gradient goes to zero."""
import argparse

import two_ranks

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--steps", type=int, default=370)
options = parser.parse_args()
two_ranks.start()

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

STEP = 0.001


def rounding_hook(_, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    """Rounds up or down by chance, so that the mean is right; sends 16-bit numbers of steps."""
    buffer, world = bucket.buffer(), dist.get_world_size()
    codes = torch.floor(buffer / STEP + torch.rand_like(buffer)).clamp_(-32000, 32000).to(torch.int16).view(torch.uint8)
    gathered = [torch.empty_like(codes) for _ in range(world)]

    def rebuild(_):
        return sum(part.view(torch.int16).to(buffer.dtype) for part in gathered) * (STEP / world)

    return dist.all_gather(gathered, codes, async_op=True).get_future().then(rebuild)


torch.manual_seed(0)
truth = torch.randn(400, 200)
model = DistributedDataParallel(torch.nn.Linear(400, 200, bias=False))
model.register_comm_hook(None, rounding_hook)
optimizer = torch.optim.SGD(model.parameters(), lr=2.0)
torch.manual_seed(1 + dist.get_rank())
inputs = torch.randn(8000, 400)
if dist.get_rank() == 0:
    print("planted: an error of compression that does not shrink with the gradient", flush=True)
for _ in range(options.steps):
    optimizer.zero_grad()
    (model(inputs) - inputs @ truth).pow(2).mean().backward()
    optimizer.step()
two_ranks.finish()
