"""The times that DDP measures by itself: in its first ten iterations and every hundredth.

Its logger takes the times of an iteration over when the next one begins, so they are read after the forward pass of
that next one, and only then: reading costs tens of microseconds. The sampling rate stays as the job has it.
"""
import time

from . import activation, vocabulary as v
from .event_name import EventName
from .state import state

SAMPLED_AT_FIRST, SAMPLED_EACH = 10, 100

# our attribute → key of the logger, which differs between versions only by its tail
ATTRIBUTES = {
    "forward_start_ns": "forward_compute_time_start",
    "backward_compute_start_ns": "backward_compute_time_start",
    "backward_compute_end_ns": "backward_compute_time_end",
    "backward_comm_start_ns": "backward_comm_time_start",
    "backward_comm_end_ns": "backward_comm_time_end",
}
LONGEST_AGE_NS = 3600 * 10 ** 9

_MARK = EventName(v.MARK, v.NO_PHASE, "ddp_logger", v.DDP_LOGGER)
_iterations = {}   # id of a DDP → [forwards whose gradients are synchronised]; begins anew with the object


def after_forward(ddp):
    """Called after each forward pass whose gradients are synchronised; cheap unless the one before was sampled."""
    count = _iterations.get(id(ddp))
    if count is None:
        count = _iterations[id(ddp)] = [0]
    before = count[0]   # iterations that have ended
    count[0] = before + 1
    if before > 0 and (before <= SAMPLED_AT_FIRST or before % SAMPLED_EACH == 0):
        _read(ddp, before)


def built(ddp):
    _iterations[id(ddp)] = [0]
    _tell_sizes(ddp._get_ddp_logging_data())


def _tell_sizes(data):
    sizes = data.get("rebuilt_bucket_sizes") or data.get("bucket_sizes")
    if sizes:
        activation.tell("ddp.bucket_bytes", str(sizes).replace(" ", ""))


def _read(ddp, iteration):
    data = ddp._get_ddp_logging_data()
    _tell_sizes(data)
    if data.get("iteration", iteration) != iteration:
        return   # the job samples at another rate
    now, wall = time.monotonic_ns(), time.time_ns()
    times = {ours: int(data.get(theirs) or 0) for ours, theirs in ATTRIBUTES.items()}
    shift = offset(times["forward_start_ns"], now, wall)
    if shift is None or min(times.values()) <= 0:
        return
    library = state.library
    mark = library.event(_MARK.what[0] or _MARK.pack(0), 0, 0, now, now)
    for name, value in times.items():
        library.attr_int(mark, library.string(name), value + shift)


def offset(stamp, now, wall):
    """What to add to the logger's stamps to get CLOCK_MONOTONIC: they are on the wall clock, or already on it."""
    for clock_now in (wall, now):
        if 0 <= clock_now - stamp <= LONGEST_AGE_NS:
            return now - clock_now
    return None


state.on_fork.append(_iterations.clear)
