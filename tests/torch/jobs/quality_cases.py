"""Trainings with a hook whose quality is known: `quality_cases.py CASE STEPS`. Prints a digest of the parameters."""
import hashlib
import os
import sys

CASE, STEPS, RANK = sys.argv[1], int(sys.argv[2]), int(os.environ["RANK"])
if RANK == 1 and CASE == "not_asked":
    os.environ.pop("GSD_QUALITY", None)
if RANK == 1 and CASE == "other_plan":
    os.environ["GSD_QUALITY"] = "block=4"

import datetime

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.nn.parallel import DistributedDataParallel

from ending import leave
from exchange import gather

torch.set_num_threads(1)
DENSITY, FEW = 0.1, 30   # of Top-K; width of the small layers


class Memory:
    def __init__(self):
        self.residuals = {}


def topk_hook(memory, bucket):
    """Top-K of each bucket; with error feedback unless the case leaves it out."""
    gradient = bucket.buffer().clone()
    if CASE != "no_feedback":
        gradient += memory.residuals.get(bucket.index(), 0)
    chosen = gradient.abs().topk(int(DENSITY * gradient.numel())).indices
    values = gradient[chosen]
    if CASE != "no_feedback":
        gradient[chosen] = 0
        memory.residuals[bucket.index()] = gradient
    return gather(bucket.buffer(), values * (-1 if CASE == "wrong_sign" else 1), chosen)


def per_layer_hook(memory, bucket):
    """Top-K of each layer with int(density * n) entries: none of a small layer."""
    values, chosen = [], []
    start = bucket.buffer().storage_offset()
    for gradient in bucket.gradients():
        flat = gradient.reshape(-1)
        here = flat.abs().topk(int(0.02 * flat.numel())).indices
        values.append(flat[here])
        chosen.append(here + gradient.storage_offset() - start)
    return gather(bucket.buffer(), torch.cat(values), torch.cat(chosen))


def fp16_hook(_, bucket):
    """Sums in half precision before it divides."""
    buffer, world = bucket.buffer(), dist.get_world_size()
    half = buffer.half()

    def widen(future):
        buffer.copy_(future.value()[0])
        return buffer.div_(world)

    return dist.all_reduce(half, async_op=True).get_future().then(widen)


def main():
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=20))
    torch.manual_seed(1)
    net = torch.nn.Sequential(torch.nn.Linear(100, 200), torch.nn.ReLU(), torch.nn.Linear(200, FEW),
                              torch.nn.LayerNorm(FEW), torch.nn.Linear(FEW, 5))
    ddp = DistributedDataParallel(net, bucket_cap_mb=0.05)
    scale = {"underflow": 1e-6, "overflow": 1e9}.get(CASE, 1.0)
    hook = {"fp16": default_hooks.fp16_compress_hook, "underflow": fp16_hook, "overflow": fp16_hook,
            "k_zero": per_layer_hook, "dense": default_hooks.allreduce_hook}.get(CASE, topk_hook)
    if CASE != "no_hook":
        ddp.register_comm_hook(None if CASE in ("fp16", "dense") else Memory(), hook)
    optimizer = torch.optim.SGD(ddp.parameters(), lr=0.0 if scale != 1 else 1e-4 if CASE == "wrong_sign" else 0.05)
    torch.manual_seed(10 + RANK)
    truth = torch.randn(100, 5)
    for number in range(STEPS):
        inputs = torch.randn(16, 100)
        if CASE == "accumulate":
            with ddp.no_sync():
                (ddp(inputs) - inputs @ truth).pow(2).mean().backward()
        ((ddp(inputs) - inputs @ truth).pow(2).mean() * scale).backward()
        optimizer.step()
        optimizer.zero_grad()
        if CASE == "diverged" and RANK == 1 and number == 30:
            with torch.no_grad():
                for parameter in ddp.parameters():
                    parameter.mul_(1.5)
    digest = hashlib.sha256()
    for parameter in ddp.parameters():
        digest.update(parameter.detach().numpy().tobytes())
    print(digest.hexdigest(), flush=True)
    dist.barrier()
    dist.destroy_process_group()
    leave()


main()
