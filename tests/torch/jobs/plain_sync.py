"""DDP without a hook, and with the hook that stands in for one: prints a digest of the parameters of each."""
import hashlib

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

torch.set_num_threads(1)


def train(registers):
    torch.manual_seed(1)
    ddp = DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(20, 300), torch.nn.ReLU(), torch.nn.Linear(300, 5)),
                                  bucket_cap_mb=0.01)
    registers(ddp)
    optimizer = torch.optim.SGD(ddp.parameters(), lr=0.05, momentum=0.9)
    generator = torch.Generator().manual_seed(100 + dist.get_rank())
    for _ in range(10):
        optimizer.zero_grad()
        ddp(torch.randn(16, 20, generator=generator)).pow(2).mean().backward()
        optimizer.step()
    digest = hashlib.sha256()
    for parameter in ddp.parameters():
        digest.update(parameter.detach().numpy().tobytes())
    return digest.hexdigest()


def registers(make):
    def register(ddp):
        stands_in = make(ddp.process_group)
        ddp.register_comm_hook(None, lambda state, bucket: stands_in(bucket))

    return register


dist.init_process_group("gloo")
from ending import leave
from gradsync_hook import plain_sync  # known to every interpreter that the doctor observes

print(train(lambda ddp: None))
print(train(registers(lambda group: plain_sync.dense(dist, group))))
print(train(registers(lambda group: plain_sync.fp16(dist, group, torch.float16))), flush=True)
dist.barrier()
leave()
