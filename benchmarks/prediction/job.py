"""One rank of the job whose change is predicted: a dense network under DDP, its gradients sent by --method."""
import argparse
import json
import statistics
import time

import torch
import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--method", default="dense")
parser.add_argument("--bucket-mb", type=float, default=25)
parser.add_argument("--sleep-ms", type=float, default=0)
parser.add_argument("--density", type=float, default=0.02, help="share of the gradient that Top-K sends")
parser.add_argument("--counts", action="store_true", help="the Top-K hook first gathers how many entries each rank sends")
parser.add_argument("--steps", type=int, default=60)
parser.add_argument("--width", type=int, default=640)
parser.add_argument("--layers", type=int, default=6)
parser.add_argument("--batch", type=int, default=256)
options = parser.parse_args()

torch.set_num_threads(1)
dist.init_process_group("gloo")
world = dist.get_world_size()
kept: dict = {}


def topk_hook(index_type, bucket):
    buffer = bucket.buffer()
    gradient = buffer + kept[bucket.index()] if kept.get(bucket.index(), buffer).numel() == buffer.numel() and \
        bucket.index() in kept else buffer.clone()
    if options.sleep_ms:
        time.sleep(options.sleep_ms / 1e3)
    indices = torch.topk(gradient.abs(), max(1, int(options.density * gradient.numel()))).indices
    values = gradient[indices]
    gradient[indices] = 0.0
    kept[bucket.index()] = gradient
    narrow = indices.to(index_type)
    if options.counts:
        all_counts = [torch.zeros(1, dtype=torch.int64) for _ in range(world)]
        dist.all_gather(all_counts, torch.tensor([narrow.numel()]))
    all_indices = [torch.empty_like(narrow) for _ in range(world)]
    all_values = [torch.empty_like(values) for _ in range(world)]
    sent = [dist.all_gather(all_indices, narrow, async_op=True).get_future(),
            dist.all_gather(all_values, values, async_op=True).get_future()]

    def decode(_):
        buffer.zero_()
        for one, some in zip(all_indices, all_values):
            buffer.scatter_add_(0, one.to(torch.int64), some / world)
        return buffer

    return torch.futures.collect_all(sent).then(decode)


def dense_hook(_, bucket):
    future = dist.all_reduce(bucket.buffer().div_(world), async_op=True).get_future()
    return future.then(lambda done: done.value()[0])


torch.manual_seed(0)
model = torch.nn.Sequential(*[torch.nn.Linear(options.width, options.width) for _ in range(options.layers)])
model = torch.nn.parallel.DistributedDataParallel(model, bucket_cap_mb=options.bucket_mb)
if options.method in ("topk", "topk32"):
    model.register_comm_hook(torch.int64 if options.method == "topk" else torch.int32, topk_hook)
elif options.method == "dense_hook":
    model.register_comm_hook(None, dense_hook)
elif options.method == "fp16":
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
    model.register_comm_hook(None, default_hooks.fp16_compress_hook)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
inputs = torch.randn(options.batch, options.width)
times = []
for _ in range(options.steps):
    began = time.perf_counter()
    optimizer.zero_grad()
    model(inputs).square().mean().backward()
    optimizer.step()
    times.append(1e3 * (time.perf_counter() - began))
if dist.get_rank() == 0:
    print(json.dumps({"median_ms": statistics.median(times[8:]), "steps": len(times) - 8}))
dist.barrier()
dist.destroy_process_group()
