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
from .steps import MOST_OPTIMIZERS, steps

_running = {}     # id of an optimiser → its open events; nested when a subclass calls super().step()
_wrapped = set()  # steps we made, so that a class is wrapped once
_sizes = {}       # id → bytes of one gradient
_handles = []


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
    _running.clear()


def _grad_scaler():
    for module in ("torch.amp.grad_scaler", "torch.cuda.amp.grad_scaler"):
        found = getattr(sys.modules.get(module), "GradScaler", None)
        if found is not None:
            return found
    return None


def _begin(optimizer):
    try:
        if not state.active and not state.wake():
            return
        if state.on:
            started = clock()
            name = named(v.RANGE, v.OPTIMIZER, type(optimizer).__name__ + ".step")
            event = state.library.begin(name.what[0] or name.pack(0), 0, 0)
            _running.setdefault(id(optimizer), []).append(event)
            state.cost[PHASE] += clock() - started
    except Exception as error:
        state.fault("optimizer", error)


def _end(optimizer):
    try:
        if not state.active:
            return
        started = clock()
        _close(optimizer)
        steps.optimizer_stepped(optimizer)
        if id(optimizer) not in _sizes:
            _measure(optimizer)
        state.cost[PHASE] += clock() - started
    except Exception as error:
        state.fault("optimizer", error)


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
            _close(self)
            raise
        _end(self)
        return result

    _wrapped.add(step)
    return step


def _measure(optimizer):
    """The gradient that a job without DDP would send: once per optimiser."""
    trained = [parameter for group in optimizer.param_groups for parameter in group["params"]
               if parameter.requires_grad]
    if len(_sizes) < MOST_OPTIMIZERS:
        _sizes[id(optimizer)] = sum(parameter.numel() * parameter.element_size() for parameter in trained)
        activation.tell("optimizer.gradient_bytes", sum(_sizes.values()))
        activation.tell("optimizer.count", len(_sizes))


def _close(optimizer):
    """Global hooks do not hear of a step that raised: what it left behind lies below and goes with the last one."""
    events = _running.get(id(optimizer))
    if not events:
        return
    state.library.end(events.pop())
    if not events or len(events) > 8:
        del _running[id(optimizer)]


def _wrap_scaler(original):
    @functools.wraps(original)
    def step(self, optimizer, *args, **kwargs):
        before = steps.pending
        result = original(self, optimizer, *args, **kwargs)
        if state.active and steps.pending == before:
            try:
                steps.optimizer_stepped(optimizer)
            except Exception as error:
                state.fault("GradScaler", error)
        return result

    return step


state.on_fork.append(_sizes.clear)
state.on_fork.append(_running.clear)
