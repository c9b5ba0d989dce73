"""Which patches there are: all of them, in the order in which they are applied.

At import of torch only what programs bind by name, and what shows that a process trains. The rest follows when it
does train, so that an interpreter that merely computes runs torch as it is.
"""
import os
import sys

from . import (ab, activation, backward, budget, call_site, collectives, comm_hook, compiler, completion, counters,
               data_loading, ddp, deepspeed, group_hooks, host_sync, leaving, optimizer, quality, user_profiler, window)
from .patches import patches
from .state import state
from .steps import steps


def at_import():
    torch = sys.modules["torch"]
    steps.first, steps.last = _range(os.environ.get("GSD_STEPS", "all"))
    steps.budget = budget.from_text(os.environ.get("GSD_BUDGET"))
    windows = window.Windows(os.environ["GSD_RECORDING"], steps.first) if _wants_torch_profiler() else None
    gpu = user_profiler.LeavesTheGpu() if os.environ.get("GSD_DEEP") == "cupti" else None
    steps.window = windows
    state.on_fatal = off
    for name, install in (
            ("leaving", leaving.install),
            ("compiler", lambda: patches.note("compiler.skip", "applied" if compiler.hide(torch) else "missing")),
            ("call sites", lambda: call_site.install(torch)),
            ("collectives", lambda: collectives.install(torch)),
            ("ddp", lambda: ddp.install(torch)),
            ("comm_hook", lambda: comm_hook.install(torch)),
            ("ab", lambda: _wants_experiment() and _prepare_experiment(torch, windows)),
            ("quality", lambda: os.environ.get("GSD_QUALITY") and quality.install(torch, os.environ["GSD_QUALITY"])),
            ("counters", counters.counters.install),
            ("optimizer", lambda: optimizer.install(torch)),
            ("backward", lambda: backward.install(torch)),
            ("host_sync", lambda: host_sync.install(torch)),
            ("profiler", lambda: (windows or gpu) and user_profiler.install(torch, windows or gpu)),
            ("window", lambda: windows and window.install(torch, windows))):
        _guarded(name, install)
    leaving.at_exit(group_hooks.unwatch_all)
    activation.when_active(lambda: _when_active(torch))
    if gpu is not None:
        activation.when_active(gpu.when_active)


def _when_active(torch):
    for name, install in (
            ("completion", lambda: completion.install(torch)),
            ("comm_hook", lambda: comm_hook.install_when_active(torch)),
            ("data_loading", data_loading.install_when_active),
            ("deepspeed", deepspeed.when_active),
            ("host_sync", lambda: host_sync.install_when_active(torch))):
        _guarded(name, install)


def _guarded(name, install):
    try:
        install()
    except Exception as error:
        patches.note(name, "failed: %s: %s" % (type(error).__name__, error))


def off():
    """Idempotent; what the job has wrapped around our wrappers keeps working and passes everything through."""
    state.disarm()
    patches.undo()
    optimizer.remove()
    group_hooks.unwatch_all()


def _range(text):
    """GSD_STEPS: `all`, or `A:B` for the steps A <= n < B."""
    first, colon, last = text.partition(":")
    if not colon:
        return 0, None
    try:
        return int(first or 0), int(last) if last else None
    except ValueError:
        return 0, None


def _wants_torch_profiler():
    return os.environ.get("GSD_DEEP", "auto") in ("auto", "torch")


def _wants_experiment():
    return bool(os.environ.get("GSD_AB"))


def _prepare_experiment(torch, windows):
    ab.install(torch, os.environ["GSD_AB"])
    if windows is not None:
        windows.most = 1   # blocks of an experiment are no change of the job's behaviour
