"""Top-K gradient compression in a DDP communication hook, where selecting costs more than sending would.

DDP calls topk_hook as soon as a bucket is full, so that compression does start during backward. On a fast link it is
still a loss: choosing 2 % of a bucket takes the CPU longer than the all-reduce of the whole bucket.
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
parser.add_argument("--width", type=int, default=640, help="of each layer (default %(default)s)")
parser.add_argument("--remedy", choices=("none", "dense", "histogram-topk", "two-level"), default="none",
                    help="instead of the hook with the fault: no hook, or one of samples/remedies (default %(default)s)")
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

WIDTH, LAYERS, BATCH = options.width, 6, 512
DENSITY = 0.02


class TopKState:
    """What a bucket left unsent, by bucket index. DDP rebuilds its buckets after the first step."""

    def __init__(self) -> None:
        self.residuals: dict[int, torch.Tensor] = {}

    def residual(self, bucket: dist.GradBucket) -> torch.Tensor:
        gradient = bucket.buffer()
        kept = self.residuals.get(bucket.index())
        return kept if kept is not None and kept.shape == gradient.shape else torch.zeros_like(gradient)


def topk_hook(state: TopKState, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    """Sends the largest entries of the bucket; the future holds the mean over the ranks."""
    buffer = bucket.buffer()
    gradient = buffer + state.residual(bucket)
    indices = torch.topk(gradient.abs(), int(DENSITY * gradient.numel())).indices
    values = gradient[indices]
    gradient[indices] = 0.0
    state.residuals[bucket.index()] = gradient

    all_indices = [torch.empty_like(indices) for _ in range(world_size)]
    all_values = [torch.empty_like(values) for _ in range(world_size)]
    sent_indices = dist.all_gather(all_indices, indices, async_op=True).get_future()
    sent_values = dist.all_gather(all_values, values, async_op=True).get_future()

    def decompress(_: torch.futures.Future) -> torch.Tensor:
        buffer.zero_()
        for rank_indices, rank_values in zip(all_indices, all_values):
            buffer.scatter_add_(0, rank_indices, rank_values / world_size)
        return buffer

    return torch.futures.collect_all([sent_indices, sent_values]).then(decompress)


torch.manual_seed(0)
layers = [torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.ReLU()) for _ in range(LAYERS)]
model = torch.nn.Sequential(*layers, torch.nn.Linear(WIDTH, 1))
model = torch.nn.parallel.DistributedDataParallel(model, bucket_cap_mb=1)
if options.remedy in ("histogram-topk", "two-level"):
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "remedies"))
if options.remedy == "none":
    model.register_comm_hook(TopKState(), topk_hook)
elif options.remedy == "histogram-topk":
    from histogram_topk_hook import HistogramTopKState, histogram_topk_hook
    model.register_comm_hook(HistogramTopKState(DENSITY), histogram_topk_hook)
elif options.remedy == "two-level":
    from two_level_hook import TwoLevelState, two_level_hook
    model.register_comm_hook(TwoLevelState(), two_level_hook)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
parameter_count = sum(parameter.numel() for parameter in model.parameters())

torch.manual_seed(1 + rank)  # every rank has its own share of the samples
inputs = torch.randn(BATCH, WIDTH)
targets = inputs[:, :8].sum(dim=1, keepdim=True)

if rank == 0 and options.remedy != "none":
    print(f"cured: {options.remedy} in place of the Top-K hook, {parameter_count} gradients", flush=True)
elif rank == 0:
    print("planted: a Top-K hook whose selection costs more than the dense all-reduce it replaces")
    print(f"planted: {DENSITY:.0%} of {parameter_count} gradients, several buckets, int64 indices", flush=True)

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
