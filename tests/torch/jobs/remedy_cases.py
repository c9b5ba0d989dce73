"""One rank of tests/torch/test_remedies.py: remedy_cases.py FOLDER_OF_HOOKS CASE; rank 0 prints what it saw as JSON."""
import json
import sys
from datetime import timedelta

import torch
import torch.distributed as dist

sys.path.insert(0, sys.argv[1])
from histogram_topk_hook import HistogramTopKState, histogram_topk_hook  # noqa: E402
from two_level_hook import TwoLevelState, two_level_hook  # noqa: E402

torch.set_num_threads(1)
dist.init_process_group("gloo", timeout=timedelta(seconds=60))
rank, ranks = dist.get_rank(), dist.get_world_size()


def hook_of(case):
    """State and hook; the hosts of two-level cases are "HOSTSxRANKS"."""
    if case == "histogram":
        return HistogramTopKState(0.05), histogram_topk_hook
    if case == "found":
        return TwoLevelState(), two_level_hook
    per_host = int(case.split("x")[1])
    return TwoLevelState([str(r // per_host) for r in range(ranks)]), two_level_hook


def trained(state, hook, steps=150):
    """A regression on odd sizes, several buckets, a share of the samples per rank: first and last loss, and agreement."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(17, 93), torch.nn.Tanh(), torch.nn.Linear(93, 101), torch.nn.Tanh(),
                                torch.nn.Linear(101, 1))
    hooked = torch.nn.parallel.DistributedDataParallel(model, bucket_cap_mb=0.02)
    hooked.register_comm_hook(state, hook)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    torch.manual_seed(1 + rank)
    inputs = torch.randn(64, 17)
    targets = inputs[:, :4].sum(1, keepdim=True)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(hooked(inputs), targets)
        loss.backward()
        optimizer.step()
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        losses.append(float(mean / ranks))
    flat = torch.cat([p.detach().view(-1) for p in model.parameters()])
    everyone = [torch.empty_like(flat) for _ in range(ranks)]
    dist.all_gather(everyone, flat)
    return {"first": losses[0], "last": losses[-1], "equal": all(torch.equal(flat, other) for other in everyone)}


def summed(state, hook, steps=20):
    """Of one odd parameter: the sum of what the hook gave, and of the true means, whose difference is what is left unsent."""
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1001, 1, bias=False))
    model.register_comm_hook(state, hook)
    given, dense = torch.zeros(1001), torch.zeros(1001)
    torch.manual_seed(7 + rank)
    for _ in range(steps):
        model.zero_grad()
        inputs = torch.randn(1, 1001)
        model(inputs).sum().backward()
        given += model.module.weight.grad.view(-1)
        mean = inputs.view(-1).clone()
        dist.all_reduce(mean)
        dense += mean / ranks
    kept = list((state.residuals if isinstance(state, TwoLevelState) else state._residuals).values())
    left = torch.zeros(1001)
    if isinstance(state, TwoLevelState):
        if kept:
            start = state.local_rank * kept[0].numel()
            own = kept[0][: max(0, min(kept[0].numel(), 1001 - start))]
            left[start:start + own.numel()] = own / state.hosts
    elif kept:
        left = kept[0] / ranks
    dist.all_reduce(left)
    return {"unexplained": float((dense - given - left).abs().max()), "left": float(left.abs().max()),
            "sum": float(dense.abs().max())}


found = {"train": trained(*hook_of(sys.argv[2])), "sums": summed(*hook_of(sys.argv[2]))}
if rank == 0:
    print(json.dumps(found))
dist.barrier()
dist.destroy_process_group()
