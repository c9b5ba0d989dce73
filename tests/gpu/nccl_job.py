#!/usr/bin/env python3
"""Two ranks that do nothing but all-reduce 1 MiB. Prints the mean time of each hundred as one line of JSON, rank 0 only.

With one GPU both ranks sit on it, which takes NCCL 2.30 or newer and NCCL_MULTI_RANK_GPU_ENABLE=1.
"""
import argparse
import json
import os
import socket
import subprocess
import sys
import time

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--rounds", type=int, default=230, help="hundreds of all-reduces")
parser.add_argument("--elements", type=int, default=1 << 18)
parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
options = parser.parse_args()


def start_ranks():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    ranks = [subprocess.Popen([sys.executable, *sys.argv], env={**os.environ, "RANK": str(rank), "WORLD_SIZE": "2",
             "LOCAL_RANK": str(rank), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}) for rank in range(2)]  # fmt: skip
    return max(abs(rank.wait()) for rank in ranks)


if "RANK" not in os.environ:
    sys.exit(start_ranks())

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402

rank = int(os.environ["RANK"])
if options.device == "cuda":
    torch.cuda.set_device(rank % torch.cuda.device_count())
dist.init_process_group("nccl" if options.device == "cuda" else "gloo")
data = torch.ones(options.elements, device=options.device)
times = []
for _ in range(options.rounds):
    begin = time.monotonic_ns()
    for _ in range(100):
        dist.all_reduce(data, op=dist.ReduceOp.MAX)
    if options.device == "cuda":
        torch.cuda.synchronize()
    times.append((time.monotonic_ns() - begin) / 1e6 / 100)
dist.destroy_process_group()
if rank == 0:
    print(json.dumps({"step_ms": times}), flush=True)
