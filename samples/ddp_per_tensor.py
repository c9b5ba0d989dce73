"""Top-K compression of each parameter tensor by itself: a hundred tiny collectives in every step.

The selection is cheap, the start-up cost of the collectives is not: each of the weights and biases pays it twice, once
for the indices and once for the values. A plain module is trained here, without DistributedDataParallel.
"""
import argparse
import os
import signal
import socket
import statistics
import subprocess
import sys
import time
from datetime import timedelta

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--steps", type=int, default=48, help="training steps (default %(default)s)")
options = parser.parse_args()


# --- launch: these lines are the same in every sample, so that each stays a single file ---


def start_ranks(count: int = 2) -> int:
    """Runs this file once per rank, as torchrun would; returns 0 or the exit status of a failed rank."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    common = dict(os.environ, WORLD_SIZE=str(count), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    common["GLOO_SOCKET_IFNAME"] = "lo"
    common["OMP_NUM_THREADS"] = "1"  # torch.set_num_threads() does not reach OpenBLAS
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    ranks: list[subprocess.Popen] = []
    try:
        for rank in range(count):
            environment = dict(common, RANK=str(rank), LOCAL_RANK=str(rank))
            ranks.append(subprocess.Popen([sys.executable, *sys.argv], env=environment))
        statuses = [process.wait() for process in ranks]
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    finally:
        for process in ranks:
            process.terminate()  # does nothing to a rank that has already ended
            process.wait()
    return max(128 - status if status < 0 else status for status in statuses)


if "RANK" not in os.environ or "WORLD_SIZE" not in os.environ:
    sys.exit(start_ranks())

import torch  # only in the ranks: the launching process stays small, and their environment is complete by now
import torch.distributed as dist

torch.set_num_threads(1)
dist.init_process_group("gloo", timeout=timedelta(seconds=30))
rank, world_size = dist.get_rank(), dist.get_world_size()

# --- end of launch ---

WIDTH, BLOCKS, BATCH = 96, 30, 1024
DENSITY = 0.02


class Block(torch.nn.Module):
    """x + relu(Wx + b), so that the gradient survives many layers."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + 0.1 * torch.relu(self.linear(x))


torch.manual_seed(0)  # the same start on every rank
model = torch.nn.Sequential(*[Block() for _ in range(BLOCKS)], torch.nn.Linear(WIDTH, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
parameters = list(model.parameters())
residuals = [torch.zeros(parameter.numel()) for parameter in parameters]

torch.manual_seed(1 + rank)  # every rank has its own share of the samples
inputs = torch.randn(BATCH, WIDTH)
targets = inputs[:, :8].sum(dim=1, keepdim=True)


def synchronize_gradient(parameter: torch.nn.Parameter, residual: torch.Tensor) -> None:
    """Replaces parameter.grad by the mean over the ranks of their Top-K entries; what is not sent stays in residual."""
    residual += parameter.grad.flatten()
    indices = torch.topk(residual.abs(), max(1, int(DENSITY * residual.numel()))).indices
    values = residual[indices]
    residual[indices] = 0.0

    all_indices = [torch.empty_like(indices) for _ in range(world_size)]
    all_values = [torch.empty_like(values) for _ in range(world_size)]
    dist.all_gather(all_indices, indices)
    dist.all_gather(all_values, values)

    mean = parameter.grad.view(-1).zero_()
    for rank_indices, rank_values in zip(all_indices, all_values):
        mean.scatter_add_(0, rank_indices, rank_values / world_size)


if rank == 0:
    print(f"planted: Top-K per parameter tensor, {2 * len(parameters)} small all-gathers in each step", flush=True)

step_ms: list[float] = []
for step in range(options.steps):
    started = time.perf_counter()
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(model(inputs), targets)
    loss.backward()
    for parameter, residual in zip(parameters, residuals):
        synchronize_gradient(parameter, residual)
    optimizer.step()
    step_ms.append((time.perf_counter() - started) * 1e3)

if rank == 0:
    median_ms = statistics.median(step_ms[5:] or step_ms)  # the first steps warm up
    print(f"{len(step_ms)} steps, median {median_ms:.1f} ms")
dist.barrier()  # lets Gloo's threads drop their last tensors while Python can still serve them
dist.destroy_process_group()
