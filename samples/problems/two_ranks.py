"""What the jobs of this folder share: two ranks on Gloo over loopback, a small model, Top-K by all_gather."""
import os
import signal
import socket
import subprocess
import sys
from datetime import timedelta


KEPT = ("PATH", "HOME", "LANG", "TMPDIR", "LD_LIBRARY_PATH", "VIRTUAL_ENV")


def start(count: int = 2, cleaned: tuple[int, ...] = ()) -> None:
    """Returns in the ranks; the launching process waits for them and leaves with their status.

    Ranks named in `cleaned` get a fresh environment, as a container or `env -i` makes it.
    """
    if "RANK" not in os.environ or "WORLD_SIZE" not in os.environ:
        sys.exit(_launch(count, cleaned))
    import torch
    import torch.distributed as dist
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=timedelta(seconds=60))


def _launch(count: int, cleaned: tuple[int, ...]) -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    common = dict(WORLD_SIZE=str(count), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), GLOO_SOCKET_IFNAME="lo",
                  OMP_NUM_THREADS="1")
    fresh = {name: os.environ[name] for name in KEPT if name in os.environ}
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    ranks: list[subprocess.Popen] = []
    try:
        for rank in range(count):
            base = fresh if rank in cleaned else os.environ
            ranks.append(subprocess.Popen([sys.executable, *sys.argv],
                                          env={**base, **common, "RANK": str(rank), "LOCAL_RANK": str(rank)}))
        statuses = [process.wait() for process in ranks]
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    finally:
        for process in ranks:
            process.terminate()  # does nothing to a rank that has already ended
            process.wait()
    return max(128 - status if status < 0 else status for status in statuses)


def finish() -> None:
    """Gloo's threads drop their last tensors while Python can still serve them."""
    import torch.distributed as dist
    dist.barrier()
    dist.destroy_process_group()


def corrected(memory, bucket):
    """A copy of the bucket's gradient, with what earlier steps left out of it (`memory`, by bucket) added."""
    kept = memory.get(bucket.index())
    gradient = bucket.buffer().clone()
    if kept is not None and kept.numel() == gradient.numel():  # DDP rebuilds its buckets after the first step
        gradient += kept
    return gradient


def exchange(buffer, values, indices):
    """Future of the mean over ranks of selected values, in a tensor of the bucket's length."""
    import torch
    import torch.distributed as dist
    world = dist.get_world_size()
    all_values = [torch.empty_like(values) for _ in range(world)]
    all_indices = [torch.empty_like(indices) for _ in range(world)]
    sent = [dist.all_gather(all_values, values, async_op=True).get_future(),
            dist.all_gather(all_indices, indices, async_op=True).get_future()]

    def rebuild(_):
        result = torch.zeros_like(buffer)
        for part, places in zip(all_values, all_indices):
            result.index_add_(0, places, part / world)
        return result

    return torch.futures.collect_all(sent).then(rebuild)
