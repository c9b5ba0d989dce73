"""A training with a hook that has memory, under run --ab: `ab_cases.py CASE STEPS`.

Prints JSON: `hook`: one character for each pass, H where the hook was called; `state`: where its memory was read or
changed though it was not called; `error`: what ended the training early.
"""
import hashlib
import json
import os
import sys
import tempfile
import time

CASE, STEPS, RANK = sys.argv[1], int(sys.argv[2]), int(os.environ["RANK"])
ODD = 25   # the step in which rank 1 does something else: inside the first quadruple
if RANK == 1 and CASE == "other_schedule":
    os.environ["GSD_AB"] += ",seed=2"
if RANK == 1 and CASE == "shorter_blocks":
    os.environ["GSD_AB"] += ",block=3"
if RANK == 1 and CASE == "not_asked":
    os.environ.pop("GSD_AB", None)

import datetime

import torch
import torch.distributed as dist
from torch.distributed.algorithms.join import Join
from torch.nn.parallel import DistributedDataParallel

from ending import leave
from exchange import gather

torch.set_num_threads(1)


class Memory:
    """The residual of error feedback, and how often somebody looked at it."""

    def __init__(self):
        self._residual, self.looks, self.calls = {}, 0, 0

    def residual(self):
        self.looks += 1
        return self._residual

    def checksum(self):
        digest = hashlib.sha256()
        for index in sorted(self._residual):
            digest.update(self._residual[index].numpy().tobytes())
        return digest.hexdigest()


def topk_hook(memory, bucket):
    memory.calls += 1
    kept = memory.residual()
    gradient = bucket.buffer() + kept.get(bucket.index(), 0)
    chosen = gradient.abs().topk(max(1, gradient.numel() // 10)).indices
    values = gradient[chosen].contiguous()
    gradient[chosen] = 0
    kept[bucket.index()] = gradient
    return gather(gradient, values, chosen)


def model():
    torch.manual_seed(1)
    net = torch.nn.Sequential(torch.nn.Linear(20, 40), torch.nn.ReLU(), torch.nn.Linear(40, 5))
    return DistributedDataParallel(net)


class Training:
    def __init__(self):
        self.memory = Memory()
        self.ddp = model()
        if CASE != "no_hook":
            self.ddp.register_comm_hook(self.memory, topk_hook)
        self.optimizer = torch.optim.SGD(self.ddp.parameters(), lr=0.05)
        self.hook, self.state = "", []

    def step(self, number):
        calls, looks, checksum = self.memory.calls, self.memory.looks, self.memory.checksum()
        self.optimizer.zero_grad()
        if CASE == "accumulate":
            with self.ddp.no_sync():
                self.ddp(torch.randn(16, 20)).pow(2).mean().backward()
        if CASE == "two_passes":
            self.ddp(torch.randn(16, 20)).pow(2).mean().backward()
        self.ddp(torch.randn(16, 20)).pow(2).mean().backward()
        self.optimizer.step()
        called = self.memory.calls > calls
        self.hook += "H" if called else "."
        if not called and (self.memory.looks > looks or self.memory.checksum() != checksum):
            self.state.append(number)


def odd(training, number):
    """What happens to one rank in the middle of a block."""
    if CASE == "save" and RANK == 0:
        with tempfile.TemporaryDirectory() as folder:
            torch.save(training.ddp.state_dict(), os.path.join(folder, "checkpoint.pt"))
    if CASE == "second_model":
        training.second = model()
        training.second.register_comm_hook(Memory(), topk_hook)
    if RANK == 1 and CASE == "no_sync":
        with training.ddp.no_sync():
            training.ddp(torch.randn(16, 20)).pow(2).mean().backward()
        training.optimizer.step()
    if RANK == 1 and CASE == "delayed":
        time.sleep(3)
    if RANK == 1 and CASE == "killed":
        os.kill(os.getpid(), 9)


def main():
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=20))
    training, error = Training(), None
    steps = range(STEPS - 20 * (RANK == 1 and CASE == "join"))
    with Join([training.ddp], enable=CASE == "join"):
        try:
            for number in steps:
                if number == ODD:
                    odd(training, number)
                training.step(number)
        except RuntimeError as caught:
            error = str(caught)
    print(json.dumps({"hook": training.hook, "state": training.state, "error": error}), flush=True)
    if error is None:
        dist.barrier()
        dist.destroy_process_group()
    leave()


main()
