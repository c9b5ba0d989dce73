"""DistributedDataParallel: how it was built, its forward passes, and how often it runs without gradients."""
import functools

from . import activation, ddp_logger, settings, vocabulary as v
from .coverage import coverage
from .event_name import EventName
from .patches import patches
from .state import PHASE, clock, state
from .steps import steps

_FORWARD = EventName(v.RANGE, v.FORWARD, "DistributedDataParallel.forward")

_totals = {}


def install(torch):
    ddp = getattr(getattr(torch.nn, "parallel", None), "DistributedDataParallel", None)
    grad_enabled = torch.is_grad_enabled
    patches.replace("DistributedDataParallel.__init__", ddp, "__init__", _wrap_init)
    patches.replace("DistributedDataParallel.forward", ddp, "forward",
                    lambda original: _wrap_forward(original, grad_enabled))


def _wrap_init(original):
    @functools.wraps(original)
    def __init__(self, *args, **kwargs):
        original(self, *args, **kwargs)
        try:
            if state.trains():
                _tell(self)
        except Exception as error:
            state.fault("DistributedDataParallel.__init__", error)

    return __init__


def _tell(ddp):
    trained = [parameter for parameter in ddp.module.parameters() if parameter.requires_grad]
    _totals["count"] = _totals.get("count", 0) + 1
    _totals["parameters"] = _totals.get("parameters", 0) + sum(p.numel() for p in trained)
    _totals["gradient_bytes"] = _totals.get("gradient_bytes", 0) + sum(p.numel() * p.element_size() for p in trained)
    activation.tell("framework", "ddp")
    for key, value in _totals.items():
        activation.tell("ddp." + key, value)
    cap = getattr(ddp, "bucket_bytes_cap", None)
    if cap:
        activation.tell("ddp.bucket_cap_mb", "%g" % (cap / 2 ** 20))
    for key in ("find_unused_parameters", "static_graph", "gradient_as_bucket_view"):
        if hasattr(ddp, key):
            activation.tell("ddp." + key, str(bool(getattr(ddp, key))).lower())
    if trained:
        activation.tell("device", trained[0].device.type)
        settings.tell_device(trained[0].device)
    activation.tell_group()
    activation.tell("ddp.group", _group_label(ddp))
    coverage.ddp_built(ddp)
    ddp_logger.built(ddp)


def _group_label(ddp):
    from . import groups
    return groups.label(ddp.process_group)


def _wrap_forward(original, grad_enabled):
    @functools.wraps(original)
    def forward(self, *args, **kwargs):
        if not state.active:
            return original(self, *args, **kwargs)
        if steps.pending:
            steps.advance()
        start = clock()
        try:
            return original(self, *args, **kwargs)
        finally:
            ended = clock()
            try:
                _after_forward(self, start, ended, grad_enabled())
            except Exception as error:
                state.fault("forward", error)
            state.charge(PHASE, ended)

    return forward


def _after_forward(ddp, start, ended, with_gradients):
    if not with_gradients:
        steps.evaluations += 1
    if not state.on:
        return
    library = state.library
    event = library.event(_FORWARD.what[0] or _FORWARD.pack(0), 0, 0, start, ended)
    if not with_gradients:
        return
    if getattr(ddp, "require_backward_grad_sync", True):
        ddp_logger.after_forward(ddp)
    else:  # inside no_sync()
        library.attr_int(event, library.string("ddp_sync"), 0)


def _forked():
    _totals.clear()


state.on_fork.append(_forked)
