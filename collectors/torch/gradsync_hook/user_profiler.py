"""The job's own profiler always wins: two on one thread raise, and the one that raises must not be the job's."""
import functools

from . import profile
from .patches import patches
from .state import state

_windows = None
_seen = False   # the job has profiled itself, if only before it trained


class LeavesTheGpu:
    """In the place of profiler windows when the library watches the GPU: CUPTI serves one profiler, the job's."""

    def close_if_mine(self):
        if state.library is not None:
            state.library.gpu_yield()

    def when_active(self):
        if _seen or profile.job_profiles():
            self.close_if_mine()


def install(torch, windows):
    global _windows
    _windows = windows
    module = torch.autograd.profiler
    for name, method, begins in (("profile", "__enter__", False), ("profile", "_prepare_trace", True),
                                 ("profile", "_start_trace", False), ("emit_nvtx", "__enter__", False),
                                 ("emit_itt", "__enter__", False)):
        patches.replace("profiler.%s.%s" % (name, method), getattr(module, name, None), method,
                        lambda original, begins=begins: _wrap_start(original, begins))
    patches.replace("profiler.profile.__exit__", module.profile, "__exit__", _wrap_end)


def _wrap_start(original, begins):
    @functools.wraps(original)
    def start(self, *args, **kwargs):
        global _seen
        _seen = _seen or not profile.is_ours()
        if state.active and not profile.is_ours():
            try:
                _windows.close_if_mine()
                if begins:
                    profile.job_begins()
            except Exception as error:
                state.fault("user profiler", error)
        return original(self, *args, **kwargs)

    return start


def _wrap_end(original):
    @functools.wraps(original)
    def __exit__(self, *args, **kwargs):
        try:
            return original(self, *args, **kwargs)
        finally:
            if state.active and not profile.is_ours():
                profile.job_ends()

    return __exit__
