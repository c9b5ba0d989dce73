"""Fetching the next batch, as seen by the training thread."""
import functools
import sys

from . import vocabulary as v
from .event_name import EventName
from .patches import patches
from .state import PHASE, clock, state
from .steps import steps

_NEXT = EventName(v.RANGE, v.DATA, "DataLoader.next")


def install_when_active():
    loader = sys.modules.get("torch.utils.data.dataloader")
    patches.replace("DataLoader.next", getattr(loader, "_BaseDataLoaderIter", None), "__next__", _wrap)


def _wrap(original):
    @functools.wraps(original)
    def __next__(self):
        if not state.active:
            return original(self)
        if steps.pending:
            steps.advance()
        if not state.on:
            return original(self)
        start = clock()
        try:
            return original(self)
        finally:
            ended = clock()
            try:
                state.library.event(_NEXT.what[0] or _NEXT.pack(0), 0, 0, start, ended)
            except Exception as error:
                state.fault("DataLoader.next", error)
            state.charge(PHASE, ended)

    return __next__
