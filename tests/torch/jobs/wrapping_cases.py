"""Unusual hooks and copies of observed objects. Prints what a program sees; 1 rank, gloo."""
import copy
import functools
import os
import pickle
import sys
import traceback

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
from torch.nn.parallel import DistributedDataParallel

torch.set_num_threads(1)
dist.init_process_group("gloo")


def fresh():
    torch.manual_seed(0)
    return DistributedDataParallel(torch.nn.Linear(3, 2))


def train_once(ddp):
    ddp(torch.ones(2, 3)).sum().backward()
    return ddp.module.weight.grad.sum().item()


def say(name, action):
    """Prints the result, or the error with the program's own frames."""
    try:
        print(name, "->", action())
    except BaseException as error:
        frames = [frame.name for frame in traceback.extract_tb(error.__traceback__) if frame.filename == __file__]
        print(name, "raised", type(error).__name__, str(error).splitlines()[0], frames)


def raising_hook(state, bucket):
    raise ValueError("from the hook")


def good_hook(state, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    return allreduce_hook(state, bucket)


def wrong_name(state, gradients):
    return None


def wrong_annotation(state, bucket: int):
    return None


def raising_callback(state, bucket):
    def broken(future):
        raise KeyError("from the callback")
    return dist.all_reduce(bucket.buffer(), async_op=True).get_future().then(broken)


class CallableHook:
    def __call__(self, state, bucket):
        return allreduce_hook(state, bucket)

    def method(self, state, bucket):
        return allreduce_hook(state, bucket)


def with_hook(hook):
    ddp = fresh()
    ddp.register_comm_hook(None, hook)
    return train_once(ddp)


def twice():
    ddp = fresh()
    ddp.register_comm_hook(None, good_hook)
    ddp.register_comm_hook(None, good_hook)


def keywords():
    ddp = fresh()
    ddp.register_comm_hook(hook=good_hook, state=None)
    return train_once(ddp)


def copied():
    ddp = fresh()
    ddp.register_comm_hook(None, good_hook)
    restored = pickle.loads(pickle.dumps(ddp))
    return type(restored).__name__, [hook is good_hook for hook, _ in getattr(restored, "_comm_hooks", [])]


def listed():
    ddp = fresh()
    ddp.register_comm_hook("state", good_hook)
    return [(hook is good_hook, state) for hook, state in getattr(ddp, "_comm_hooks", [])]


def copied_optimizer():
    ddp = fresh()
    optimizer = torch.optim.Adam(ddp.parameters())
    train_once(ddp)
    optimizer.step()
    twin = copy.deepcopy(optimizer)
    twin.step()
    again = pickle.loads(pickle.dumps(optimizer))
    again.step()
    return type(twin).__name__, type(again).__name__, sorted(optimizer.state_dict())


def unsynchronised():
    ddp = fresh()
    with ddp.no_sync():
        ddp(torch.ones(2, 3)).sum().backward()
    return train_once(ddp)


def builtin():
    ddp = fresh()
    ddp._register_builtin_comm_hook(dist.BuiltinCommHookType.FP16_COMPRESS)
    return train_once(ddp)


say("plain function", lambda: with_hook(good_hook))
say("keywords", keywords)
say("bound method", lambda: with_hook(CallableHook().method))
say("raising hook", lambda: with_hook(raising_hook))
say("raising callback", lambda: with_hook(raising_callback))
say("partial", lambda: with_hook(functools.partial(good_hook)))
say("object", lambda: with_hook(CallableHook()))
say("wrong parameter name", lambda: with_hook(wrong_name))
say("wrong annotation", lambda: with_hook(wrong_annotation))
say("not callable", lambda: with_hook(3))
say("no arguments", lambda: fresh().register_comm_hook())
say("twice", twice)
say("listed", listed)
say("pickled", copied)
say("optimizer", copied_optimizer)
say("builtin", builtin)
say("bad backward", lambda: torch.ones(2).sum().backward())
say("backward without arguments", lambda: torch.autograd.backward())
say("backward by keyword", lambda: torch.autograd.backward(tensors=(torch.ones(1, requires_grad=True) * 2).sum()))
say("no_sync", unsynchronised)
sys.stdout.flush()
os._exit(0)
