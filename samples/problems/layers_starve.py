"""Top-K per layer with k = int(0.02 * n) and no error feedback: layers below 50 elements get k = 0 and never learn."""
import argparse

import two_ranks

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--steps", type=int, default=170)
options = parser.parse_args()
two_ranks.start()

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def topk_hook(_, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    values, indices, start = [], [], bucket.buffer().storage_offset()
    for gradient in bucket.gradients():
        flat = gradient.reshape(-1)
        chosen = flat.abs().topk(int(0.02 * flat.numel())).indices
        values.append(flat[chosen])
        indices.append(chosen + gradient.storage_offset() - start)
    return two_ranks.exchange(bucket.buffer(), torch.cat(values), torch.cat(indices))


torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 40), torch.nn.LayerNorm(40),
                            torch.nn.Linear(40, 8))
model = DistributedDataParallel(model)
model.register_comm_hook(None, topk_hook)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
torch.manual_seed(1 + dist.get_rank())
truth = torch.randn(512, 8, generator=torch.Generator().manual_seed(5)) / 20
if dist.get_rank() == 0:
    print("planted: int(0.02 * n) is 0 for biases and normalisation layers", flush=True)
for _ in range(options.steps):
    inputs = torch.randn(4000, 512)
    optimizer.zero_grad()
    (model(inputs) - inputs @ truth).pow(2).mean().backward()
    optimizer.step()
two_ranks.finish()
