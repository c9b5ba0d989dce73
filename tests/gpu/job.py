#!/usr/bin/env python3
"""A training on one GPU that the scripts of this folder watch. Prints what it saw as one line of JSON, last.

usage: job.py [--steps N] [--graph] [--hook] [--profile A:B] [--idle-after STEP --idle SECONDS] [--workers N] [--kill-at STEP]

One rank of DDP over NCCL (Gloo on --device cpu, to try the script itself). A step ends when the device has finished it,
so that its wall time is its own.
"""
import argparse
import json
import os
import signal
import socket
import time

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--steps", type=int, default=40)
parser.add_argument("--width", type=int, default=4096, help="of each layer")
parser.add_argument("--layers", type=int, default=8)
parser.add_argument("--batch", type=int, default=2048)
parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
parser.add_argument("--graph", action="store_true", help="forward and backward are replayed from a CUDA graph, without DDP")
parser.add_argument("--profile", default="", metavar="A:B", help="torch.profiler watches these steps")
parser.add_argument("--idle-after", type=int, default=-1, metavar="STEP")
parser.add_argument("--idle", type=float, default=0, metavar="SECONDS")
parser.add_argument("--hook", action="store_true", help="gradients are cast to fp16 by a communication hook")
parser.add_argument("--workers", type=int, default=0, help="processes of the DataLoader, forked")
parser.add_argument("--kill-at", type=int, default=-1, metavar="STEP", help="SIGKILL itself")


def finish(device):
    if device == "cuda":
        torch.cuda.synchronize()


class Training:
    def __init__(self, options):
        self.options = options
        torch.manual_seed(0)
        layers = [torch.nn.Linear(options.width, options.width, bias=False) for _ in range(options.layers)]
        self.model = torch.nn.Sequential(*layers).to(options.device)
        if not options.graph:
            self.model = torch.nn.parallel.DistributedDataParallel(self.model)
        if options.hook:
            self.model.register_comm_hook(None, default_hooks.fp16_compress_hook)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-6)
        rows = torch.utils.data.TensorDataset(torch.randn(4 * options.batch, options.width))
        self.loader = torch.utils.data.DataLoader(rows, batch_size=options.batch, num_workers=options.workers)
        self.batches = iter(())
        self.graph = self.captured() if options.graph else None

    def batch(self):
        found = next(self.batches, None)
        if found is None:
            self.batches = iter(self.loader)
            found = next(self.batches)
        return found[0].to(self.options.device, non_blocking=True)

    def compute(self, batch):
        self.model(batch).pow(2).mean().backward()

    def captured(self):
        """The graph of forward and backward on a buffer of its own."""
        self.static_batch = self.batch()
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.compute(self.static_batch)
        torch.cuda.current_stream().wait_stream(side)
        self.optimizer.zero_grad(set_to_none=True)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.compute(self.static_batch)
        return graph

    def step(self):
        batch = self.batch()
        if self.graph is None:
            self.optimizer.zero_grad()
            self.compute(batch)
        else:
            self.static_batch.copy_(batch)
            self.graph.replay()
        self.optimizer.step()
        finish(self.options.device)


def kernels_seen(profile):
    """How many kernels torch.profiler has to show: none would mean that it was kept from working."""
    return sum(event.device_type == torch.autograd.DeviceType.CUDA for event in profile.events())


def train(options):
    first, last = (int(word) for word in options.profile.split(":")) if options.profile else (-1, -1)
    training, profile, saw = Training(options), None, {"step_ms": [], "idle_ns": []}
    for step in range(options.steps):
        if step == first:
            profile = torch.profiler.profile()
            profile.start()
        if step == options.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        begin = time.monotonic_ns()
        training.step()
        saw["step_ms"].append((time.monotonic_ns() - begin) / 1e6)
        if profile is not None and step == last - 1:
            profile.stop()
            saw["profiled_kernels"], profile = kernels_seen(profile), None
        if step == options.idle_after:
            begin = time.monotonic_ns()
            time.sleep(options.idle)
            saw["idle_ns"] = [begin, time.monotonic_ns()]
    saw["ended_ns"] = time.monotonic_ns()
    return saw


if __name__ == "__main__":
    arguments = parser.parse_args()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        free_port = probe.getsockname()[1]
    import torch
    import torch.distributed as dist
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks

    backend = "nccl" if arguments.device == "cuda" else "gloo"
    dist.init_process_group(backend, init_method=f"tcp://127.0.0.1:{free_port}", rank=0, world_size=1)
    seen = train(arguments)
    dist.destroy_process_group()
    print(json.dumps({**seen, "torch": torch.__version__, "cuda": torch.version.cuda}), flush=True)
