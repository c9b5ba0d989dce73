"""One run of torch's profiler, through the functions that every version since 1.13 has.

With Kineto the trace is written in C++ from what `_disable_profiler` returns, which spares the training thread the
work that torch's own classes do at the end. Without Kineto (some distributions) the events are plain Python.
"""
import inspect
import json
import os
import sys

from .state import clock

EVENTS_CHEAP_TO_SAVE = 20000
_KINETO_LOG, _SILENT = "KINETO_LOG_LEVEL", "99"

_opening = False     # inside our own use of the classes that `user_profiler` watches
_job_uses = 0        # profiles of the job that are prepared or running


def job_profiles():
    """Whether the job profiles itself now, or is about to."""
    enabled = getattr(sys.modules["torch"].autograd, "_profiler_enabled", None)
    return _job_uses > 0 or (enabled is not None and enabled())


def is_ours():
    return _opening


def job_begins():
    global _job_uses
    _job_uses += 1


def job_ends():
    global _job_uses
    _job_uses = max(0, _job_uses - 1)


def silence_kineto(torch):
    """Kineto reads this when it is first used, and otherwise writes to the job's stderr."""
    if torch.autograd.kineto_available():
        os.environ.setdefault(_KINETO_LOG, _SILENT)


def _restore_environment():
    if os.environ.get(_KINETO_LOG) == _SILENT:
        del os.environ[_KINETO_LOG]


class Profile:
    def __init__(self, torch):
        self._module = torch.autograd.profiler
        self._kineto = bool(torch.autograd.kineto_available())
        self._results = None
        self._entered = False
        self._profile = self._module.profile(**self._options(torch))
        self._metadata = getattr(torch.autograd, "_add_metadata_json", None)
        self._dist = getattr(torch, "distributed", None)

    def _options(self, torch):
        known = inspect.signature(self._module.profile.__init__).parameters
        options = {"record_shapes": False}
        if "use_kineto" in known:
            options["use_kineto"] = self._kineto
        cuda = torch.cuda.is_initialized() if hasattr(torch.cuda, "is_initialized") else False
        if cuda and self._kineto:
            if "use_device" in known:
                options["use_device"] = "cuda"
            else:
                options["use_cuda"] = True
        return options

    def open(self):
        """Starts it; returns CLOCK_MONOTONIC inside the range `gsd_clock_open`."""
        global _opening
        _opening = True
        try:
            self._profile.__enter__()
            self._entered = True
        finally:
            _opening = False
        if self._kineto:
            _restore_environment()
            self._name_the_rank()
        return self._clock("gsd_clock_open")

    def _name_the_rank(self):
        """Kineto's own description of the process, which trace readers look for."""
        if self._metadata is not None and self._dist is not None and self._dist.is_initialized():
            self._metadata("distributedInfo", json.dumps({
                "backend": str(self._dist.get_backend()), "rank": self._dist.get_rank(),
                "world_size": self._dist.get_world_size()}))

    def close(self):
        """Stops it; returns CLOCK_MONOTONIC inside `gsd_clock_close`. Kineto does not wait for the device here."""
        global _opening
        stamp = self._clock("gsd_clock_close")
        if self._kineto:
            self._results = self._module._disable_profiler()
            stopped = getattr(self._module, "_run_on_profiler_stop", None)
            if stopped is not None:
                stopped()
        else:
            _opening = True
            try:
                self._profile.__exit__(None, None, None)
            finally:
                _opening = False
        return stamp

    def abandon(self):
        """After an error: leaves no profiler running."""
        try:
            if self._entered:
                self._module._disable_profiler()
        except Exception:  # it never ran
            pass

    def is_cheap_to_save(self):
        return not self._kineto and len(self._profile.function_events) < EVENTS_CHEAP_TO_SAVE

    def save(self, path):
        if self._kineto:
            self._results.save(path)
        else:
            self._profile.export_chrome_trace(path)
        self._results = self._profile = None

    def _clock(self, name):
        """A stamp from the middle of a range of its own, so that the trace and the spool share a moment."""
        with self._module.record_function(name):
            return clock()
