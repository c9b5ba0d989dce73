"""run --ab in this process: who takes part, and what ends it from outside: uneven inputs, checkpoints, a second model.

A checkpoint would hold the traces of an experiment that its reader knows nothing of; `--yes` (GSD_AB_YES) says that
this is fine.
"""
import functools
import os
import sys

from . import activation, agreement, experiment, groups, plain_sync, schedule
from .agreed_passes import LIMIT_S
from .patches import patches
from .request import Request
from .state import state
from .steps import steps

_request = Request("ab.state")
cannot = _request.cannot


def install(torch, text):
    """`text`: GSD_AB."""
    schedule.from_text(text)
    _request.ask(torch, text)
    if not os.environ.get("GSD_AB_YES"):
        patches.replace("torch.save", torch, "save", _before_save)


def begin(ddp, warm_up):
    """The experiment on a hook that is about to be registered, `warm_up` passes before it compresses; or None."""
    running = _request.begin(lambda text: _make(ddp, schedule.from_text(text, warm_up)))
    if running is not None:
        steps.experiment = running.of_next_step
    return running


def _make(ddp, plan):
    torch, group = sys.modules["torch"], ddp.process_group
    activation.tell("ab.schedule", plan)
    activation.tell("ab.with", plan.replacement)
    replace = (plain_sync.fp16(torch.distributed, group, torch.float16) if plan.replacement == "fp16"
               else plain_sync.dense(torch.distributed, group))
    talk = agreement.of_group(torch, group, groups.label(group))
    return experiment.Experiment(plan, talk, _request.tell, replace, group.rank() == 0, _limit_s())


def _limit_s():
    """GSD_AB_LIMIT: seconds that a pass may take."""
    try:
        return max(float(os.environ.get("GSD_AB_LIMIT", "")), 0.001)
    except ValueError:
        return LIMIT_S


def _before_save(original):
    @functools.wraps(original)
    def save(obj, f, *args, **kwargs):
        if state.armed and isinstance(f, (str, bytes, os.PathLike)):   # a buffer in memory is how ranks talk
            _request.doubt("the job writes checkpoints, and nobody said --yes")
        return original(obj, f, *args, **kwargs)

    return save


def _forked():
    steps.experiment = None


state.on_fork.append(_forked)
