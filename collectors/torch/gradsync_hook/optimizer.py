"""When optimisers step: by torch's own global hooks where they exist, else by wrapping each class's `step`.

torch 1.13 wraps `step` of a class when its first instance is made (`_hook_for_profile`); ours goes around that.
GradScaler may skip the optimiser: the end of its `step` is then the end of the step.
"""
import functools
import sys

from . import activation, vocabulary as v
from .event_name import named
from .patches import patches
from .state import PHASE, clock, state
from .steps import steps

MOST_OPTIMIZERS = 64

_known = {}       # id of an optimiser → _Optimizer
_wrapped = set()  # steps we made, so that a class is wrapped once
_handles = []


class _Optimizer:
    """What is kept about one optimiser while it lives."""

    __slots__ = ("type", "name", "label", "running")

    def __init__(self, optimizer):
        self.type = type(optimizer)
        self.name = named(v.RANGE, v.OPTIMIZER, self.type.__name__ + ".step")
        self.label = "%s#%d" % (self.type.__name__, len(_known))
        self.running = []   # when its steps began: more than one when a subclass calls super().step()


def _about(optimizer):
    found = _known.get(id(optimizer))
    if found is None or found.type is not type(optimizer):   # the address is used again
        found = _Optimizer(optimizer)
        if len(_known) < MOST_OPTIMIZERS:
            _known[id(optimizer)] = found
            steps.optimizers = len(_known)
            _measure(optimizer)
    return found


def install(torch):
    module = sys.modules.get("torch.optim.optimizer")   # torch.optim deletes some of its own attributes
    if hasattr(module, "register_optimizer_step_pre_hook") and hasattr(module, "register_optimizer_step_post_hook"):
        is_compiling = getattr(getattr(torch, "compiler", None), "is_compiling", None) or (lambda: False)

        def before(optimizer, args, kwargs):
            if not is_compiling():  # traced into a graph this must vanish, not break the graph
                _begin(optimizer)

        def after(optimizer, args, kwargs):
            if not is_compiling():
                _end(optimizer)

        _handles.append(module.register_optimizer_step_pre_hook(before))
        _handles.append(module.register_optimizer_step_post_hook(after))
        patches.note("Optimizer.step", "applied")
    else:
        patches.replace("Optimizer.step", getattr(module, "Optimizer", None), "_hook_for_profile", _wrap_when_made)
    patches.replace("GradScaler.step", _grad_scaler(), "step", _wrap_scaler)


def remove():
    while _handles:
        _handles.pop().remove()
    _known.clear()


def _grad_scaler():
    for module in ("torch.amp.grad_scaler", "torch.cuda.amp.grad_scaler"):
        found = getattr(sys.modules.get(module), "GradScaler", None)
        if found is not None:
            return found
    return None


def _begin(optimizer):
    try:
        if not state.active and not state.trains():
            return
        _about(optimizer).running.append(clock())
    except Exception as error:
        state.fault("optimizer", error)


def _end(optimizer):
    try:
        if not state.active:
            return
        ended = clock()
        about = _about(optimizer)
        if about.running:
            start = about.running.pop()
            if len(about.running) > 8:   # global hooks do not hear of steps that raise
                about.running.clear()
            if state.on:
                state.library.event(about.name.what[0] or about.name.pack(0), 0, 0, start, ended)
        steps.optimizer_stepped(about.label)
        state.charge(PHASE, ended)
    except Exception as error:
        state.fault("optimizer", error)


def _abandon(optimizer):
    """Its step has raised."""
    about = _known.get(id(optimizer))
    if about is not None and about.running:
        about.running.pop()


def _wrap_when_made(original):
    @functools.wraps(original)
    def _hook_for_profile(self, *args, **kwargs):
        result = original(self, *args, **kwargs)
        try:
            owner = type(self)
            if state.armed and getattr(owner, "step", None) not in _wrapped:
                patches.replace("Optimizer.step.%s" % owner.__name__, owner, "step", _wrap_step)
        except Exception as error:
            state.fault("optimizer", error)
        return result

    return _hook_for_profile


def _wrap_step(original):
    @functools.wraps(original)  # also copies `hooked`, by which torch knows that its own wrapper is inside
    def step(self, *args, **kwargs):
        if not state.armed:
            return original(self, *args, **kwargs)
        _begin(self)
        try:
            result = original(self, *args, **kwargs)
        except BaseException:
            _abandon(self)
            raise
        _end(self)
        return result

    _wrapped.add(step)
    return step


def _wrap_scaler(original):
    @functools.wraps(original)
    def step(self, optimizer, *args, **kwargs):
        before = steps.pending
        result = original(self, optimizer, *args, **kwargs)
        if state.active and steps.pending == before:
            try:
                steps.optimizer_stepped(_about(optimizer).label)
            except Exception as error:
                state.fault("GradScaler", error)
        return result

    return step


def _measure(optimizer):
    """The gradient that a job without DDP would send: once per optimiser."""
    global _gradient_bytes
    _gradient_bytes += sum(parameter.numel() * parameter.element_size() for group in optimizer.param_groups
                           for parameter in group["params"] if parameter.requires_grad)
    activation.tell("optimizer.gradient_bytes", _gradient_bytes)
    if activation.told("framework") == "none" and optimizer.param_groups[0]["params"]:
        activation.tell("device", optimizer.param_groups[0]["params"][0].device.type)
    activation.tell("optimizer.count", len(_known))


def _forked():
    global _gradient_bytes
    _gradient_bytes = 0
    _known.clear()


_gradient_bytes = 0
state.on_fork.append(_forked)
