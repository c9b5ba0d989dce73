"""A rank whose CPUs another program uses: run `slow_rank.py --hog 20` beside it, which is no part of the job."""
import argparse
import os
import time

import two_ranks

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--steps", type=int, default=120)
parser.add_argument("--hog", type=float, metavar="SECONDS", help="be the other program, on each CPU, for so long")
options = parser.parse_args()


def be_the_other_program(seconds: float) -> None:
    """A process for each CPU; they end with the first one, and after `seconds` at the latest."""
    first, end = os.getpid(), time.monotonic() + seconds
    for _ in sorted(os.sched_getaffinity(0))[1:]:
        if os.fork() == 0:
            break
    while time.monotonic() < end and (os.getpid() == first or os.getppid() == first):
        sum(range(10000))


if options.hog:
    be_the_other_program(options.hog)
    raise SystemExit(0)
two_ranks.start()

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

torch.manual_seed(0)
model = DistributedDataParallel(torch.nn.Sequential(*[torch.nn.Linear(600, 600) for _ in range(4)]))
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
if dist.get_rank() == 0:
    print("planted: with --hog beside it, others take the job's CPUs", flush=True)
for _ in range(options.steps):
    optimizer.zero_grad()
    model(torch.randn(512, 600)).pow(2).mean().backward()
    optimizer.step()
two_ranks.finish()
