"""`safety_cases.py CASE`: a small training on one rank with something going on around it. Prints `done`."""
import multiprocessing
import os
import subprocess
import sys
import tempfile

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)


def train(steps, workers=0, wrap=None):
    if not dist.is_initialized():
        dist.init_process_group("gloo")
    torch.manual_seed(0)
    ddp = DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2)))
    net = wrap(ddp) if wrap else ddp
    optimizer = torch.optim.SGD(ddp.parameters(), lr=0.1)
    loader = DataLoader(TensorDataset(torch.randn(4 * steps, 8)), batch_size=4, num_workers=workers)
    for (batch,) in loader:
        optimizer.zero_grad()
        loss = net(batch).pow(2).sum()
        loss.backward()
        optimizer.step()
        for _ in range(3):
            dist.all_reduce(torch.ones(4), async_op=True).wait()
            loss.item()
    return loss.item()


def attributes():
    """Everything that we replace, as it is now."""
    c10d = torch._C._distributed_c10d
    return {
        "item": torch.Tensor.__dict__.get("item"), "tolist": torch.Tensor.__dict__.get("tolist"),
        "backward": torch.autograd.backward, "allreduce": c10d.ProcessGroup.__dict__.get("allreduce"),
        "wait": c10d.Work.__dict__.get("wait"), "then": torch._C.Future.__dict__.get("then"),
        "forward": DistributedDataParallel.forward, "init": DistributedDataParallel.__init__,
        "synchronize": torch.cuda.synchronize, "step": torch.optim.SGD.step,
        "profile": torch.autograd.profiler.profile.__enter__,
        "hooks": len(getattr(sys.modules["torch.optim.optimizer"], "_global_optimizer_pre_hooks", ())),
    }


def switched_off():
    import gradsync_hook
    during = attributes()
    train(3)
    gradsync_hook.off()
    gradsync_hook.off()
    after = attributes()
    ours = [name for name, value in after.items() if "gradsync" in getattr(getattr(value, "__code__", None),
                                                                              "co_filename", "")]
    print("still ours", ours, after["hooks"], "item" in torch.Tensor.__dict__)
    print("were ours", "gradsync" in during["backward"].__code__.co_filename)
    train(3)


def faulty():
    """Our own code breaks in the middle of the job."""
    train(3)
    from gradsync_hook import groups
    groups.where = None
    train(5)


def workers():
    train(4, workers=2)


def only_torch():
    print((torch.ones(3) * 2).sum().item())
    print(next(iter(DataLoader(TensorDataset(torch.ones(4)), batch_size=2))))


def _child(rank):
    os.environ.update(RANK="0", WORLD_SIZE="1")
    # They meet nobody, and not at a port, which another program might have taken.
    with tempfile.TemporaryDirectory() as folder:
        dist.init_process_group("gloo", init_method="file://%s/store" % folder, rank=0, world_size=1)
        train(3)


def spawned():
    import torch.multiprocessing
    torch.multiprocessing.spawn(_child, nprocs=2)


def forked_ranks():
    children = [multiprocessing.get_context("fork").Process(target=_child, args=(rank,)) for rank in range(2)]
    for child in children:
        child.start()
    for child in children:
        child.join()


def crowd():
    """A subprocess without torch, a thread that trains nothing, a loader that forks in the middle."""
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    train(3, workers=1)


def compiled():
    torch._dynamo.config.suppress_errors = False
    graphs = []

    def count(graph, inputs):
        graphs.append(len(list(graph.graph.nodes)))
        return graph.forward

    print("loss", train(6, wrap=lambda net: torch.compile(net, backend=count)))
    print("graphs", graphs)

    @torch.compile(backend=count)
    def region(tensor):
        dist.all_reduce(tensor)
        return tensor + tensor.sum().item()

    before = len(graphs)
    print("region", region(torch.ones(3)), len(graphs) - before)

    parameter = torch.nn.Parameter(torch.ones(3))
    optimizer = torch.optim.SGD([parameter], lr=0.1)
    parameter.grad = torch.ones(3)
    before = len(graphs)
    step = torch.compile(optimizer.step, backend=count)
    step()
    step()
    print("optimizer", parameter.data, len(graphs) - before)


if __name__ == "__main__":
    globals()[sys.argv[1]]() if len(sys.argv) == 2 else train(int(sys.argv[2]))
    print("done")
    sys.stdout.flush()
    if dist.is_initialized():
        dist.destroy_process_group()
