"""run --quality in this process: which hook is watched, and what keeps it from being watched."""
import functools
import sys

from . import activation, probe, quality_plan
from .agreed_passes import LIMIT_S
from .request import Request
from .state import state
from .steps import steps

_request = Request("quality.state")
cannot = _request.cannot


def install(torch, text):
    """`text`: GSD_QUALITY."""
    quality_plan.from_text(text)
    _request.ask(torch, text)


def around(ddp, hook, hook_state, observed):
    """`observed` with the probe around it, when this run asks for one and it can be; else `observed` itself."""
    def make(text):
        plan = quality_plan.from_text(text)
        activation.tell("quality.plan", plan)
        return probe.Probe(sys.modules["torch"], plan, ddp, hook, hook_state, _request.tell, LIMIT_S)

    running = _request.begin(make)
    if running is None:
        return observed
    steps.pass_finished = running.pass_finished
    return _probed(observed, running)


def _probed(observed, running):
    @functools.wraps(observed)
    def probed_hook(hook_state, bucket):
        running.before(bucket)
        future = observed(hook_state, bucket)
        running.after(bucket, future)
        return future

    return probed_hook


def _forked():
    steps.pass_finished = None


state.on_fork.append(_forked)
