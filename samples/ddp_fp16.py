"""The fp16 compression hook on Gloo: half the bytes, and the step still waits for the all-reduce after backward.

The model has many parameters for the little it computes, so much of the all-reduce is still running when the backward
pass is done. In PyTorch 1.13, Gloo besides adds half-precision numbers so slowly that the hook costs more than it saves.
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

from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import fp16_compress_hook

WIDTH, LAYERS, BATCH = 768, 6, 160

torch.manual_seed(0)
layers = [torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.ReLU()) for _ in range(LAYERS)]
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*layers, torch.nn.Linear(WIDTH, 1)))
model.register_comm_hook(None, fp16_compress_hook)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
parameter_count = sum(parameter.numel() for parameter in model.parameters())

torch.manual_seed(1 + rank)  # every rank has its own share of the samples
inputs = torch.randn(BATCH, WIDTH)
targets = inputs[:, :8].sum(dim=1, keepdim=True)

if rank == 0:
    print(f"planted: fp16 all-reduce of {parameter_count} gradients, too long to hide behind backward", flush=True)

step_ms: list[float] = []
for step in range(options.steps):
    started = time.perf_counter()
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(model(inputs), targets)
    loss.backward()
    optimizer.step()
    step_ms.append((time.perf_counter() - started) * 1e3)

if rank == 0:
    median_ms = statistics.median(step_ms[5:] or step_ms)  # the first steps warm up
    print(f"{len(step_ms)} steps, median {median_ms:.1f} ms")
dist.barrier()  # lets Gloo's threads drop their last tensors while Python can still serve them
dist.destroy_process_group()
