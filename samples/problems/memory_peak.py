"""Top-K of one bucket that holds the whole model, with every temporary at once, where activations are small."""
import argparse

import two_ranks

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--steps", type=int, default=12)
options = parser.parse_args()
two_ranks.start()

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

residuals: dict[int, torch.Tensor] = {}


def topk_hook(memory: dict, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    gradient = two_ranks.corrected(memory, bucket)
    magnitudes = gradient.abs()
    ordered = torch.sort(magnitudes, descending=True)  # all of it: values and 64-bit indices, 12 bytes an element
    indices = ordered.indices[:gradient.numel() // 50].clone()
    values = gradient[indices]
    gradient[indices] = 0
    memory[bucket.index()] = gradient
    return two_ranks.exchange(bucket.buffer(), values, indices)


torch.manual_seed(0)
model = torch.nn.Sequential(*[layer for _ in range(4) for layer in (torch.nn.Linear(1400, 1400), torch.nn.ReLU())],
                            torch.nn.Linear(1400, 4))
model = DistributedDataParallel(model, bucket_cap_mb=1000)
model.register_comm_hook(residuals, topk_hook)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
torch.manual_seed(1 + dist.get_rank())
if dist.get_rank() == 0:
    print("planted: compression takes several times the gradient's own memory", flush=True)
for _ in range(options.steps):
    optimizer.zero_grad()
    model(torch.randn(8, 1400)).pow(2).mean().backward()
    optimizer.step()
two_ranks.finish()
