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
_running = {}         # events whose callback is still to come


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
            _running[event] = True
            future.add_done_callback(_ending(event, library.end))
            followed = True
        state.charge(COMPLETION, started)
    _remember(work, event, followed)


def _ending(event, end):
    def done(_):
        started = clock()
        end(event)
        _running.pop(event, None)
        state.charge(COMPLETION, started)

    return done


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
        started = clock()
        collective, ended_elsewhere = _works.get(id(self), (0, True))
        waiting = _begin(collective)
        state.charge(COLLECTIVE, started)
        try:
            return original(self, *args, **kwargs)
        finally:
            started = clock()
            state.library.end(waiting)
            if not ended_elsewhere:
                state.library.end(collective)
            state.charge(COLLECTIVE, started)

    return wait


def _wrap_future_wait(original):
    @functools.wraps(original)
    def wait(self, *args, **kwargs):
        if not state.on or self.done():  # callbacks read the result of a finished future this way
            return original(self, *args, **kwargs)
        waiting = _begin(0)
        try:
            return original(self, *args, **kwargs)
        finally:
            state.library.end(waiting)

    return wait


def _begin(collective):
    try:
        flags = v.IN_HOOK if state.thread.in_hook else 0
        waiting = state.library.begin(_WAIT.what[flags] or _WAIT.pack(flags), 0, 0)
        if collective:
            state.library.link(waiting, collective)
        return waiting
    except Exception as error:
        state.fault("wait", error)
        return 0


def _forked():
    _works.clear()
    _running.clear()


state.on_fork.append(_forked)
