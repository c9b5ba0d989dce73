"""One scenario per forked child, so that torch is imported once. Prints `<scenario> <pid>` for each."""
import multiprocessing
import sys

import torch
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)


def model():
    return torch.nn.Linear(4, 2)


def loss_of(net):
    return net(torch.ones(3, 4)).sum()


def plain():
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(5):
        optimizer.zero_grad()
        loss_of(net).backward()
        optimizer.step()


def with_loader():
    net = model()
    optimizer = torch.optim.Adam(net.parameters())
    for (batch,) in DataLoader(TensorDataset(torch.ones(8, 4)), batch_size=2):
        net(batch).sum().backward()
        optimizer.step()


def accumulation():
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for micro in range(12):
        loss_of(net).backward()
        if micro % 4 == 3:
            optimizer.step()


def two_optimizers_in_a_row():
    first, second = model(), model()
    optimizers = [torch.optim.SGD(first.parameters(), lr=0.1), torch.optim.Adam(second.parameters())]
    for _ in range(3):
        (loss_of(first) + loss_of(second)).backward()
        for optimizer in optimizers:
            optimizer.step()


def two_optimizers_in_turn():
    first, second = model(), model()
    optimizers = [torch.optim.SGD(first.parameters(), lr=0.1), torch.optim.Adam(second.parameters())]
    for _ in range(3):
        for net, optimizer in zip((first, second), optimizers):
            loss_of(net).backward()
            optimizer.step()


def closure():
    net = model()
    optimizer = torch.optim.LBFGS(net.parameters(), max_iter=3)

    def evaluate():
        optimizer.zero_grad()
        loss = loss_of(net) ** 2
        loss.backward()
        return loss

    for _ in range(4):
        optimizer.step(evaluate)


class Nested(torch.optim.SGD):
    def step(self, closure=None):
        return super().step(closure)


def subclass_calls_super():
    net = model()
    optimizer = Nested(net.parameters(), lr=0.1)
    for _ in range(3):
        loss_of(net).backward()
        optimizer.step()


def step_that_raises():
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for turn in range(4):
        loss_of(net).backward()
        try:
            optimizer.step(lambda: 1 / 0 if turn == 1 else None)
        except ZeroDivisionError:
            pass


def scaler_that_skips():
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0)
    for turn in range(4):
        optimizer.zero_grad()
        scaler.scale(loss_of(net) * (float("inf") if turn == 1 else 1.0)).backward()
        scaler.step(optimizer)
        scaler.update()


def optimizer_inside_backward():
    net = model()
    optimizers = {parameter: torch.optim.SGD([parameter], lr=0.1) for parameter in net.parameters()}
    for parameter, optimizer in optimizers.items():
        parameter.register_hook(lambda gradient, optimizer=optimizer: optimizer.step())
    for _ in range(4):
        loss_of(net).backward()


def scheduler():
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    for _ in range(3):
        loss_of(net).backward()
        optimizer.step()
        schedule.step()


def no_optimizer():
    net = model()
    for _ in range(5):
        loss_of(net).backward()


def backward_that_raises():
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for turn in range(4):
        loss = loss_of(net)
        if turn == 2:
            loss.register_hook(lambda gradient: 1 / 0)
        try:
            loss.backward()
        except ZeroDivisionError:
            pass
        optimizer.step()


SCENARIOS = [plain, with_loader, accumulation, two_optimizers_in_a_row, two_optimizers_in_turn, closure,
             subclass_calls_super, step_that_raises, optimizer_inside_backward, scheduler, no_optimizer,
             backward_that_raises]
if hasattr(getattr(torch, "amp", None), "GradScaler"):
    SCENARIOS.append(scaler_that_skips)

if hasattr(torch, "compile"):
    import torch._dynamo  # noqa: F401  optimisers import it at their first step: once here, not in every child

for scenario in SCENARIOS:
    child = multiprocessing.get_context("fork").Process(target=scenario)
    child.start()
    child.join()
    print(scenario.__name__, child.pid, child.exitcode)
    if child.exitcode:
        sys.exit(1)
