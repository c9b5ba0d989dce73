"""Two buckets and a hook that says when it compresses; with an argument, prints when counting begins and ends too.

There is no GPU: the two calls of the library are replaced, so is what torch says about CUDA.
"""
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

torch.set_num_threads(1)
dist.init_process_group("gloo")
said = []

if "gradsync_hook.counters" in sys.modules:
    counters = sys.modules["gradsync_hook.counters"].counters
    counters._begin, counters._end = lambda: said.append("begin"), lambda: said.append("end")
    torch.cuda.is_initialized = lambda: True
    torch.cuda.is_current_stream_capturing = lambda: sys.argv[1:] == ["capturing"]


def hook(state, bucket):
    said.append("compress %d" % bucket.index())
    work = None if sys.argv[1:] == ["silent"] else dist.all_reduce(bucket.buffer(), async_op=True)
    said.append("issued")
    if work is not None:
        work.wait()
    future = torch.futures.Future()
    future.set_result(bucket.buffer())
    return future


WIDTH = 700   # a layer is larger than DDP's smallest bucket, 1 MiB
model = DistributedDataParallel(torch.nn.Sequential(*(torch.nn.Linear(WIDTH, WIDTH) for _ in range(3))), bucket_cap_mb=1)
model.register_comm_hook(None, hook)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    del said[:]
    optimizer.zero_grad()
    model(torch.ones(2, WIDTH)).sum().backward()
    optimizer.step()
print("; ".join(said))
dist.destroy_process_group()
