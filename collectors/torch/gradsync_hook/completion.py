"""When a collective is complete, and who waited for it.

Whoever asked for a handle may look at it much later: there the end comes from a callback on the work's future,
which a worker thread calls the moment the bytes are there. All others are waited for at once, and end with that
wait; a callback would only make two threads want the interpreter. Work on an asynchronous device has no end that
the host could see without synchronising: it ends with the call, and the event says so by its flag `extrapolated`.
"""
import functools

from . import leaving, vocabulary as v
from .event_name import EventName
from .patches import patches
from .payload import POINT_TO_POINT
from .state import COLLECTIVE, COMPLETION, clock, state

MOST_WORKS = 4096

_WAIT = EventName(v.WAIT, v.NO_PHASE, "wait")

_works = {}           # id(work) → (event, whether a callback will end it); overwritten when the address is used again
_without_future = set(POINT_TO_POINT)
_running = {}         # events whose callback is still to come or not gone yet


def install(torch):
    c10d = getattr(torch._C, "_distributed_c10d", None)
    patches.replace("Work.wait", getattr(c10d, "Work", None), "wait", _wrap_work_wait)
    patches.replace("Future.wait", getattr(torch._C, "Future", None), "wait", _wrap_future_wait)
    leaving.at_exit(lambda: leaving.wait_for(lambda: not _running))


def follow(work, event, name, asynchronous, handle):
    """Makes sure that `event` ends: with the call, with a callback (`handle`), or with the next wait for `work`."""
    library = state.library
    if work is None or asynchronous:
        library.end(event)
        _remember(work, event, True)
        return
    followed = False
    if handle and name not in _without_future:
        started = clock()
        try:
            future = work.get_future()
        except RuntimeError:  # the backend has none for this operation
            _without_future.add(name)
        else:
            future.add_done_callback(_Ending(event))
            followed = True
        state.charge(COMPLETION, started)
    _remember(work, event, followed)


class _Ending:
    """The callback. It counts as gone when torch has let go of it, which takes the interpreter once more."""

    __slots__ = ("event",)

    def __init__(self, event):
        self.event = event
        _running[event] = True

    def __call__(self, _):
        started = clock()
        state.library.end(self.event)
        state.charge(COMPLETION, started)

    def __del__(self):
        _running.pop(self.event, None)


def _remember(work, event, ended_elsewhere):
    if work is not None:
        if len(_works) > MOST_WORKS:
            _works.clear()
        _works[id(work)] = (event, ended_elsewhere)


def _wrap_work_wait(original):
    @functools.wraps(original)
    def wait(self, *args, **kwargs):
        if not state.on:
            return original(self, *args, **kwargs)
        start = clock()
        try:
            return original(self, *args, **kwargs)
        finally:
            _waited(start, _works.get(id(self), (0, True)))

    return wait


def _wrap_future_wait(original):
    @functools.wraps(original)
    def wait(self, *args, **kwargs):
        if not state.on or self.done():  # callbacks read the result of a finished future this way
            return original(self, *args, **kwargs)
        start = clock()
        try:
            return original(self, *args, **kwargs)
        finally:
            _waited(start, (0, True))

    return wait


def _waited(start, what):
    ended = clock()
    try:
        collective, ended_elsewhere = what
        library = state.library
        if not ended_elsewhere:
            library.end(collective)
        flags = v.IN_HOOK if state.thread.in_hook else 0
        waiting = library.event(_WAIT.what[flags] or _WAIT.pack(flags), 0, 0, start, ended)
        if collective:
            library.link(waiting, collective)
    except Exception as error:
        state.fault("wait", error)
    state.charge(COLLECTIVE, ended)


def _forked():
    _works.clear()
    _running.clear()


state.on_fork.append(_forked)
