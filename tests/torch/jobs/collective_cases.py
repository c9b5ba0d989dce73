"""Every collective once, with sizes that tell them apart; also groups, errors and handles. 2 ranks, gloo."""
import datetime
import os
import sys

import torch
import torch.distributed as dist
from torch.distributed import all_reduce   # bound before anything is patched later

torch.set_num_threads(1)
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=40))
rank, world = dist.get_rank(), dist.get_world_size()


def floats(count):
    return torch.ones(count)


all_reduce(floats(10))
dist.all_reduce(floats(11), async_op=True).wait()
dist.all_reduce(torch.ones(12, dtype=torch.float16))
dist.all_gather([floats(13), floats(13)], floats(13))
dist.broadcast(floats(14), 0)
dist.reduce(floats(15), 0)
dist.gather(floats(16), [floats(16), floats(16)] if rank == 0 else None, 0)
dist.scatter(floats(17), [floats(17), floats(17)] if rank == 0 else None, 0)
if rank == 0:
    dist.send(floats(18), 1)
    dist.isend(floats(19), 1).wait()
else:
    dist.recv(floats(18), 0)
    dist.irecv(floats(19), 0).wait()
dist.barrier()

pair = dist.new_group([0, 1])
dist.all_reduce(floats(20), group=pair)
dist.all_reduce(floats(21), group=pair)

handle = dist.all_reduce(floats(22), async_op=True)
future = handle.get_future()
future.wait()

for wrong in (lambda: dist.all_reduce("text"), lambda: dist.all_gather([floats(2)], floats(3)),
              lambda: dist.broadcast(floats(1), 99)):
    try:
        wrong()
    except Exception as error:
        print("raised", type(error).__name__, str(error).splitlines()[0])

one = torch.tensor(3.5)
print("item", one.item(), torch.ones(2).tolist())
dist.barrier()
dist.destroy_process_group()
sys.stdout.flush()
os._exit(0)
