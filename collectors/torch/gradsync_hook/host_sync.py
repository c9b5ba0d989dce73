"""Calls in which the host waits for the device, or reads a value back from it."""
import functools
import sys

from . import call_site, vocabulary as v
from .event_name import EventName
from .patches import patches
from .state import HOST_SYNC, clock, state

OPTIONAL = "Tensor."   # prefix of the patches that the budget may take back


def install(torch):
    """At import: programs bind functions by name."""
    patches.replace("cuda.synchronize", getattr(torch, "cuda", None), "synchronize",
                    lambda original: _wrap(original, "cuda.synchronize"))


def install_when_active(torch):
    for method in ("item", "tolist"):
        patches.replace("Tensor." + method, torch.Tensor, method,
                        lambda original, name="Tensor." + method: _wrap(original, name))
    cuda = getattr(torch, "cuda", None)
    for owner in ("Stream", "Event"):
        name = "cuda.%s.synchronize" % owner
        patches.replace(name, getattr(cuda, owner, None), "synchronize",
                        lambda original, name=name: _wrap(original, name))


def drop_optional():
    patches.undo(OPTIONAL)


def _wrap(original, text):
    name = EventName(v.HOST_SYNC, v.NO_PHASE, text)

    @functools.wraps(original)
    def synchronising(*args, **kwargs):
        if not state.on:
            return original(*args, **kwargs)
        start = clock()
        try:
            return original(*args, **kwargs)
        finally:
            _record(name, start, sys._getframe(1))

    return synchronising


def _record(name, start, caller):
    ended, nested = clock(), state.nested_cost()
    try:
        library = state.library
        flags = v.IN_HOOK if state.thread.in_hook else 0
        event = library.event(name.what[flags] or name.pack(flags), 0, 0, start, ended)
        site = call_site.string_id(caller)
        if site:
            library.attr_str(event, library.site, site)
    except Exception as error:
        state.fault(name.text, error)
    state.charge(HOST_SYNC, ended + state.nested_cost() - nested)
