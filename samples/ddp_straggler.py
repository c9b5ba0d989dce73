"""Plain DistributedDataParallel where rank 1 always has more to compute than rank 0.

The samples are shared out unevenly. Rank 0 finishes its backward pass early and waits in the all-reduce for rank 1.
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

WIDTH, LAYERS, BATCH = 256, 6, 2560
EXTRA = 1.5  # rank 1's batch over that of the others

torch.manual_seed(0)
layers = [torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.ReLU()) for _ in range(LAYERS)]
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*layers, torch.nn.Linear(WIDTH, 1)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

torch.manual_seed(1 + rank)  # every rank has its own share of the samples
inputs = torch.randn(int(BATCH * EXTRA) if rank == 1 else BATCH, WIDTH)
targets = inputs[:, :8].sum(dim=1, keepdim=True)

if rank == 0:
    print(f"planted: rank 1 has {EXTRA} times the samples of rank 0, so it is last in every step", flush=True)

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
