"""What --ab and --quality share: what a run asks of this process for the communication hook of one model.

    ask ─▶ a hook is registered ─▶ begin: AgreedPasses run
      └──▶ cannot: said once; the other ranks notice that this one does not report
"""
import functools
import sys

from . import activation
from .agreement import OFF
from .patches import patches
from .state import state

MOST_EARLIER = 8


class Request:
    """Until `ask` all of it does nothing."""

    def __init__(self, fact):
        self.fact = fact   # says what became of it
        self._forget()
        state.on_fork.append(self._forget)

    def _forget(self):
        """A child that trains itself is no rank of this job."""
        self._text = None      # of the run's variable
        self._running = None   # the AgreedPasses of this process
        self._earlier = []     # doubts from before it began

    def ask(self, torch, text):
        self._text = text
        _watch_joins(torch.nn.parallel.DistributedDataParallel, self.doubt)
        activation.when_active(lambda: self.cannot("no communication hook is registered"))

    def tell(self, text):
        if state.active:
            activation.tell(self.fact, text)

    def cannot(self, reason):
        """The hook of this rank cannot take part."""
        if self._text is not None and self._running is None:
            self.tell(OFF + reason)

    def doubt(self, reason):
        """Ends it on all ranks at their next block; before it began, before it changed anything."""
        if self._running is not None:
            self._running.doubts(reason)
        elif len(self._earlier) < MOST_EARLIER:
            self._earlier.append(reason)

    def begin(self, make):
        """make(text) → AgreedPasses for a hook that is about to be registered. None when there is nothing to run."""
        if self._text is None:
            return None
        if self._running is not None:
            self.doubt("more than one model has a communication hook")
            return None
        try:
            self._running = make(self._text)
        except Exception as error:
            self.cannot("%s: %s" % (type(error).__name__, error))
            return None
        for reason in self._earlier:
            self.doubt(reason)
        return self._running


def _watch_joins(ddp, doubt):
    """`doubt(why)` when the job lets ranks run out of input: what their passes do is not the same then."""
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
