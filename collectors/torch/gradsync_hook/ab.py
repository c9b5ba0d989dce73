"""run --ab in this process: who takes part, and what ends it from outside: uneven inputs, checkpoints, a second model.

A checkpoint would hold the traces of an experiment that its reader knows nothing of; `--yes` (GSD_AB_YES) says that
this is fine.
"""
import functools
import os
import sys

from . import activation, agreement, experiment, groups, plain_sync, schedule
from .agreed_passes import LIMIT_S
from .agreement import OFF
from .patches import patches
from .state import state
from .steps import steps

_wanted = []    # GSD_AB, when the run asks for an experiment
_running = []   # the experiment of this process
_earlier = []   # doubts from before it began


def install(torch, text):
    schedule.from_text(text)
    _wanted[:] = [text]
    ddp = torch.nn.parallel.DistributedDataParallel
    watch_joins(ddp, doubt)
    if not os.environ.get("GSD_AB_YES"):
        patches.replace("torch.save", torch, "save", _before_save)
    activation.when_active(lambda: cannot("no communication hook is registered"))


def cannot(reason):
    """The hook of this rank cannot be left out. Other ranks notice that it does not report."""
    if _wanted and not _running:
        experiment.tell(OFF + reason)


def begin(ddp, warm_up):
    """The experiment on a hook that is about to be registered, `warm_up` passes before it compresses; or None."""
    if not _wanted:
        return None
    if _running:
        doubt("more than one model has a communication hook")
        return None
    try:
        _running[:] = [_make(ddp, schedule.from_text(_wanted[0], warm_up))]
    except Exception as error:
        cannot("%s: %s" % (type(error).__name__, error))
        return None
    for reason in _earlier:
        doubt(reason)
    steps.experiment = _running[0].of_next_step
    return _running[0]


def _make(ddp, plan):
    torch, group = sys.modules["torch"], ddp.process_group
    activation.tell("ab.schedule", plan)
    activation.tell("ab.with", plan.replacement)
    replace = (plain_sync.fp16(torch.distributed, group, torch.float16) if plan.replacement == "fp16"
               else plain_sync.dense(torch.distributed, group))
    talk = agreement.of_group(torch, group, groups.label(group))
    return experiment.Experiment(plan, talk, replace, group.rank() == 0, _limit_s())


def _limit_s():
    """GSD_AB_LIMIT: seconds that a pass may take."""
    try:
        return max(float(os.environ.get("GSD_AB_LIMIT", "")), 0.001)
    except ValueError:
        return LIMIT_S


def doubt(reason):
    """Ends the experiment on all ranks at their next block; before it began, before it changed anything."""
    if _running:
        _running[0].doubts(reason)
    elif len(_earlier) < 8:
        _earlier.append(reason)


def watch_joins(ddp, doubt):
    """`doubt(why)` when the job lets ranks run out of input: passes do not come in pairs then."""
    def before_join(original):
        @functools.wraps(original)
        def join(*args, **kwargs):
            if state.armed and kwargs.get("enable", True):
                doubt("the job uses join() for uneven inputs")
            return original(*args, **kwargs)

        return join

    join = getattr(sys.modules.get("torch.distributed.algorithms.join"), "Join", None)
    patches.replace("DistributedDataParallel.join", ddp, "join", before_join)
    patches.replace("Join.__init__", join, "__init__", before_join)


def _before_save(original):
    @functools.wraps(original)
    def save(obj, f, *args, **kwargs):
        if state.armed and isinstance(f, (str, bytes, os.PathLike)):   # a buffer in memory is how ranks talk
            doubt("the job writes checkpoints, and nobody said --yes")
        return original(obj, f, *args, **kwargs)

    return save


def _forked():
    """A child that trains itself is no rank of this job."""
    del _running[:], _wanted[:], _earlier[:]
    steps.experiment = None


state.on_fork.append(_forked)
