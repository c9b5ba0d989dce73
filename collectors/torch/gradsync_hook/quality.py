"""run --quality in this process: which hook is watched, and what keeps it from being watched."""
import functools
import sys

from . import ab, activation, probe, quality_plan
from .agreed_passes import LIMIT_S
from .agreement import OFF
from .state import state
from .steps import steps

_wanted = []    # GSD_QUALITY, when the run asks for it
_running = []   # the probe of this process
_earlier = []   # doubts from before it began


def install(torch, text):
    quality_plan.from_text(text)
    _wanted[:] = [text]
    ab.watch_joins(torch.nn.parallel.DistributedDataParallel, doubt)
    activation.when_active(lambda: cannot("no communication hook is registered"))


def _tell(text):
    """The fact `quality.state`."""
    if state.active:
        activation.tell("quality.state", text)


def cannot(reason):
    if _wanted and not _running:
        _tell(OFF + reason)


def doubt(reason):
    if _running:
        _running[0].doubts(reason)
    elif len(_earlier) < 8:
        _earlier.append(reason)


def around(ddp, hook, hook_state, observed):
    """`observed` with the probe around it, when this run asks for one and it can be; else `observed` itself."""
    if not _wanted:
        return observed
    if _running:
        doubt("more than one model has a communication hook")
        return observed
    torch = sys.modules["torch"]
    try:
        plan = quality_plan.from_text(_wanted[0])
        activation.tell("quality.plan", plan)
        _running[:] = [probe.Probe(torch, plan, ddp, hook, hook_state, _tell, LIMIT_S)]
    except Exception as error:
        cannot("%s: %s" % (type(error).__name__, error))
        return observed
    for reason in _earlier:
        doubt(reason)
    steps.pass_finished = _running[0].pass_finished
    return _probed(observed, _running[0])


def _probed(observed, running):
    @functools.wraps(observed)
    def probed_hook(hook_state, bucket):
        running.before(bucket)
        future = observed(hook_state, bucket)
        running.after(bucket, future)
        return future

    return probed_hook


def _forked():
    """A child that trains itself is no rank of this job."""
    del _running[:], _wanted[:], _earlier[:]
    steps.pass_finished = None


state.on_fork.append(_forked)
