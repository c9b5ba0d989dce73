"""`profiled.py CASE STEPS`: a training on every rank that changes its behaviour or profiles itself. Prints `done`."""
import datetime
import multiprocessing
import sys

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook
from torch.nn.parallel import DistributedDataParallel

torch.set_num_threads(1)
case, steps = sys.argv[1], int(sys.argv[2])
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=40))
torch.manual_seed(0)
ddp = DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.Linear(16, 4)))
if case == "powersgd":
    ddp.register_comm_hook(powerSGD_hook.PowerSGDState(None, start_powerSGD_iter=22), powerSGD_hook.powerSGD_hook)
optimizer = torch.optim.SGD(ddp.parameters(), lr=0.01)


def train(number):
    optimizer.zero_grad()
    ddp(torch.ones(4, 16)).sum().backward()
    optimizer.step()
    if case == "bytes" and number >= 20:
        dist.all_reduce(torch.ones(4000))
    if case == "fork" and number == 12:
        child = multiprocessing.get_context("fork").Process(target=print, args=("child",))
        child.start()
        child.join()


def events_of(profile):
    return sum(1 for event in profile.events() if event.name.startswith("aten::"))


if case == "theirs_first":
    for number in range(8):
        train(number)
    with torch.profiler.profile() as profile:
        for number in range(8, 14):
            train(number)
    print("theirs", events_of(profile) > 100)
    for number in range(14, steps):
        train(number)
elif case == "theirs_inside":
    for number in range(12):
        train(number)
    with torch.autograd.profiler.profile(use_kineto=torch.profiler.kineto_available()) as profile:
        train(12)
    print("theirs", len(profile.function_events) > 30)
    for number in range(13, steps):
        train(number)
elif case == "theirs_scheduled":
    schedule = torch.profiler.schedule(wait=11, warmup=2, active=2, repeat=1)
    ready = lambda done: print("theirs", events_of(done) > 50)   # noqa: E731
    with torch.profiler.profile(schedule=schedule, on_trace_ready=ready) as profile:
        for number in range(steps):
            train(number)
            profile.step()
else:
    for number in range(steps):
        train(number)
print("profiler left on", torch.autograd._profiler_enabled())
print("done", flush=True)
if dist.get_world_size() > 1:
    dist.barrier()
dist.destroy_process_group()
