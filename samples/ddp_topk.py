"""Top-K gradient compression that starts after backward has finished.

Each rank computes its gradients alone (no_sync), flattens them into one vector, picks the 2 % largest entries, gathers
the picks of all ranks and adds them up. The rest stays in a residual that is added in the next step (error feedback).
It is a correct Top-K, and none of it can run beside the backward pass.
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
parser.add_argument("--kill-rank-at", type=int, metavar="STEP", help="rank 1 kills itself with SIGKILL at this step")
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

WIDTH, LAYERS, BATCH = 512, 6, 896
DENSITY = 0.02

torch.manual_seed(0)
layers = [torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.ReLU()) for _ in range(LAYERS)]
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*layers, torch.nn.Linear(WIDTH, 1)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
parameters = list(model.parameters())
parameter_count = sum(parameter.numel() for parameter in parameters)
residual = torch.zeros(parameter_count)

torch.manual_seed(1 + rank)  # every rank has its own share of the samples
inputs = torch.randn(BATCH, WIDTH)
targets = inputs[:, :8].sum(dim=1, keepdim=True)


def synchronize_gradients() -> None:
    """Replaces each .grad by the mean over the ranks of their Top-K entries."""
    global residual
    gradient = torch.cat([parameter.grad.flatten() for parameter in parameters]) + residual
    indices = torch.topk(gradient.abs(), int(DENSITY * parameter_count)).indices
    values = gradient[indices]
    gradient[indices] = 0.0
    residual = gradient

    all_indices = [torch.empty_like(indices) for _ in range(world_size)]
    all_values = [torch.empty_like(values) for _ in range(world_size)]
    dist.all_gather(all_indices, indices)
    dist.all_gather(all_values, values)

    mean = torch.zeros(parameter_count)
    for rank_indices, rank_values in zip(all_indices, all_values):
        mean.scatter_add_(0, rank_indices, rank_values / world_size)
    parts = mean.split([parameter.numel() for parameter in parameters])
    for parameter, part in zip(parameters, parts):
        parameter.grad.copy_(part.view_as(parameter))


if rank == 0:
    print("planted: Top-K runs after backward has finished, nothing overlaps")
    print(f"planted: {DENSITY:.0%} of {parameter_count} gradients, one vector, int64 indices", flush=True)

step_ms: list[float] = []
for step in range(options.steps):
    if step == options.kill_rank_at and rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    started = time.perf_counter()
    optimizer.zero_grad()
    with model.no_sync():
        loss = torch.nn.functional.mse_loss(model(inputs), targets)
        loss.backward()
    synchronize_gradients()
    optimizer.step()
    step_ms.append((time.perf_counter() - started) * 1e3)

if rank == 0:
    median_ms = statistics.median(step_ms[5:] or step_ms)  # the first steps warm up
    print(f"{len(step_ms)} steps, median {median_ms:.1f} ms")
dist.barrier()  # lets Gloo's threads drop their last tensors while Python can still serve them
dist.destroy_process_group()
