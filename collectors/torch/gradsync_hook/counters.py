"""run --counters: the moments between which the kernels of the first bucket are counted.

    the hook gets bucket 0 ── begin ──▶ kernels that compress ──▶ the first collective of this process ── end

The library knows the steps, waits for the device, and ends by itself when NCCL is called past us.
"""
import ctypes
import os
import sys

from .state import state


class Counters:
    def __init__(self):
        self.wanted = False   # set once, by install
        self.open = False     # between begin and end; the first collective looks at it
        self._begin = self._end = None

    def install(self):
        self.wanted = bool(os.environ.get("GSD_COUNTERS"))

    def begin(self, index):
        """The hook is about to run on the bucket `index`."""
        if index != 0 or not _may_wait_for_the_device():
            return
        self._find()
        self.open = True
        self._begin()

    def end(self):
        """Before a collective, and when the hook returned; once."""
        self.open = False
        try:
            self._end()
        except Exception as error:
            state.fault("counters", error)

    def _find(self):
        """The library's functions, called without the interpreter's lock: they may wait for the device."""
        if self._begin is None:
            library = ctypes.CDLL(os.environ["GSD_LIBRARY"])
            for function in (library.gsd_counters_begin, library.gsd_counters_end):
                function.restype, function.argtypes = None, ()
            self._begin, self._end = library.gsd_counters_begin, library.gsd_counters_end


def _may_wait_for_the_device():
    """Not without CUDA, nor while a graph is being captured."""
    cuda = sys.modules["torch"].cuda
    captures = getattr(cuda, "is_current_stream_capturing", None)
    return captures is not None and cuda.is_initialized() and not captures()


counters = Counters()
