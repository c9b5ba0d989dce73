"""The moment a process turns out to train: the library is loaded and the process introduces itself.

Interpreters that import torch and never get here (data loader workers, launchers, notebooks that only infer) write
no spool. A forked child comes here again when it trains itself.
"""
import os
import sys

from . import leaving
from .patches import patches
from .state import state
from .steps import steps
from .transport import Library, Unavailable

_when_active = []   # patches of classes that only a training process needs
_told = {}          # facts as last written; the last value of a key counts


def start():
    """Called through state.wake() by the first collective, DDP construction or optimiser step."""
    if state.active or not state.armed:
        return
    if state.library is None:
        try:
            state.library = Library(os.environ.get("GSD_LIBRARY", ""))
        except Unavailable:
            state.disarm()
            return
    state.library.begin_process()
    state.active = True
    state.on = state.armed and steps.first <= max(steps.number, 0) and (steps.last is None or steps.last > 0)
    leaving.register()
    while _when_active:   # once: a forked child inherits the patches
        _when_active.pop()()
    tell_basics()
    tell_patches()
    if steps.window is None:
        wanted = os.environ.get("GSD_DEEP")
        tell("deep", "off" if wanted in (None, "off") else "skipped: left to " + wanted)


def when_active(install):
    _when_active.append(install)


def tell(key, value):
    """Writes a fact unless it was the last thing said under this key."""
    value = str(value)
    if state.active and _told.get(key) != value:
        _told[key] = value
        state.library.fact(key, value)


def told(key):
    return _told.get(key)


def tell_patches():
    for name, outcome in sorted(patches.outcome.items()):
        tell("patch." + name, outcome)


def tell_basics():
    torch = sys.modules["torch"]
    tell("torch", torch.__version__)
    tell("python", sys.version.split()[0])
    version = getattr(torch, "version", None)
    tell("cuda", getattr(version, "cuda", None) or getattr(version, "hip", None) or "none")
    tell("framework", _told.get("framework", "none"))
    tell("hook.kind", _told.get("hook.kind", "none"))
    tell("device", _told.get("device", "cpu"))
    try:   # ranks of one host and one namespace reach each other without a network
        tell("net_namespace", os.stat("/proc/self/ns/net").st_ino)
    except OSError:
        pass
    from . import settings   # which tells through this module
    settings.tell_environment()
    tell_group()


def tell_group():
    """Who this rank is: from the default process group, else from the launcher's environment."""
    dist = getattr(sys.modules["torch"], "distributed", None)
    initialized = getattr(dist, "is_initialized", None)
    if initialized is not None and initialized():
        tell("rank", dist.get_rank())
        tell("world_size", dist.get_world_size())
        tell("backend", dist.get_backend())
    else:
        tell("rank", os.environ.get("RANK", "0"))
        tell("world_size", os.environ.get("WORLD_SIZE", "1"))
        tell("backend", "none")
    interface = os.environ.get("GLOO_SOCKET_IFNAME", "").split(",")[0]
    if interface:   # else Gloo goes by the address of this host's name
        tell("gloo.interface", interface)
    local = os.environ.get("LOCAL_RANK")
    if local is not None:
        tell("local_rank", local)


def _forked():
    _told.clear()


state.start = start
state.on_fork.append(_forked)
state.on_fork.append(steps.reset)
