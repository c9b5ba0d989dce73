"""Ends of a process: normal exit, multiprocessing children that leave by os._exit, forks.

At exit the window that is still open is saved and collectives that still run are given a moment: their callback
needs the interpreter, and a worker thread that asks for it during finalisation aborts the process.
"""
import atexit
import os
import sys
import time

from .state import state

_at_exit = []       # f(), in order; each is bounded in time
_pid = 0

LONGEST_WAIT_S = 0.5


def register():
    """Once per process, when it becomes active; children of multiprocessing forget their parent's finalizers."""
    global _pid
    if _pid == os.getpid():
        return
    if _pid == 0:
        atexit.register(leave)
    _pid = os.getpid()
    util = sys.modules.get("multiprocessing.util")
    if util is not None:
        util.Finalize(None, leave, exitpriority=-100)


def at_exit(action):
    _at_exit.append(action)


def wait_for(condition, seconds=LONGEST_WAIT_S):
    """True when `condition()` became true in time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.001)
    return True


def leave():
    if _pid != os.getpid() or state.library is None:
        return
    for action in _at_exit:
        try:
            action()
        except Exception as error:
            state.fault("exit", error)
    state.on = False
    try:
        state.library.goodbye()
    except Exception:
        pass


def install():
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=state.after_fork)
