#!/usr/bin/env python3
"""Two ranks on Gloo, of which the second reaches the job's store through a relay that holds everything back for a while,
as a longer way would; and sends more of its gradient than the first, as some adapt to slow nodes.

    far_store_job.py DELAY_MS STEPS
"""
import os
import socket
import subprocess
import sys
import threading
import time

DENSITY = (0.02, 0.05)


class Relay:
    """A port whose connections go on to another one, each piece DELAY_MS later; it ends with the process."""

    def __init__(self, port: int, delay_s: float) -> None:
        self.target, self.delay_s = port, delay_s
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            near, _ = self.listener.accept()
            far = self._connect()
            for source, sink in ((near, far), (far, near)):
                source.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=self._carry, args=(source, sink), daemon=True).start()

    def _connect(self) -> socket.socket:
        for _ in range(600):  # the store is there once rank 0 has begun
            try:
                return socket.create_connection(("127.0.0.1", self.target))
            except ConnectionRefusedError:
                time.sleep(0.1)
        raise SystemExit("no store on port %d" % self.target)

    def _carry(self, source: socket.socket, sink: socket.socket) -> None:
        try:
            while piece := source.recv(1 << 16):
                time.sleep(self.delay_s)
                sink.sendall(piece)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # one of the ranks has ended


def launch() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    ways = (port, Relay(port, float(sys.argv[1]) / 2e3).port)
    ranks = []
    try:
        for rank, way in enumerate(ways):
            ranks.append(subprocess.Popen([sys.executable, *sys.argv], env=dict(
                os.environ, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="2", MASTER_ADDR="127.0.0.1",
                MASTER_PORT=str(way), GLOO_SOCKET_IFNAME="lo", OMP_NUM_THREADS="1")))
        return max(abs(rank.wait()) for rank in ranks)
    finally:
        for rank in ranks:
            rank.terminate()  # does nothing to a rank that has ended
            rank.wait()


if "RANK" not in os.environ:
    sys.exit(launch())

import torch
import torch.distributed as dist

torch.set_num_threads(1)
dist.init_process_group("gloo")
own = DENSITY[dist.get_rank()]


def uneven_topk(_, bucket):
    """Each rank's own number of largest entries to both, which an all-gather would pad to the larger number."""
    gradient = bucket.buffer()
    counts = [max(1, int(density * gradient.numel())) for density in DENSITY]
    indices = torch.topk(gradient.abs(), max(1, int(own * gradient.numel()))).indices
    parts = []
    for mine in (gradient[indices], indices):
        got = torch.empty(sum(counts), dtype=mine.dtype)
        dist.all_to_all_single(got, mine.repeat(2), counts, [mine.numel()] * 2)
        parts.append(got)
    future = torch.futures.Future()
    future.set_result(torch.zeros_like(gradient).index_add_(0, parts[1], parts[0] / 2))
    return future


torch.manual_seed(0)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*[torch.nn.Linear(300, 300) for _ in range(4)]))
model.register_comm_hook(None, uneven_topk)
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
for _ in range(int(sys.argv[2])):
    optimizer.zero_grad()
    model(torch.randn(64, 300)).pow(2).mean().backward()
    optimizer.step()
dist.barrier()
dist.destroy_process_group()
