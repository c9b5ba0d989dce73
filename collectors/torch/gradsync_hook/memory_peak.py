"""Whether compression sets the process's peak of memory, and how much it takes above what was there before it.

The kernel (CPU) and the allocator (CUDA) remember only the highest mark of all time. When it rises between the first
bucket's compression and the end of the pass, the rise is that part's; when it does not, what it takes is only known to
be less. Both marks are read, never reset: they may be the job's.
"""
import os
import resource

PASSES = 8   # in which it is looked at; later ones repeat


class MemoryPeak:
    def __init__(self, torch, device):
        self._cuda = torch.cuda if device.type == "cuda" else None
        self._before = None
        self._statm = None if self._cuda else os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
        self._page = os.sysconf("SC_PAGE_SIZE")

    def before(self):
        self._before = self._now(), self._highest()

    def after(self):
        """(bytes above what was there, whether the mark rose), or None."""
        before, self._before = self._before, None
        if before is None:
            return None
        highest = self._highest()
        return max(highest - before[0], 0), highest > before[1]

    def close(self):
        if self._statm is not None:
            os.close(self._statm)
            self._statm = None

    def _now(self):
        if self._cuda:
            return self._cuda.memory_allocated()
        return int(os.pread(self._statm, 128, 0).split()[1]) * self._page

    def _highest(self):
        if self._cuda:
            return self._cuda.max_memory_allocated()
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
