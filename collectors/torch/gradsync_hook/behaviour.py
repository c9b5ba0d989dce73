"""Notices that the job behaves differently from the steps that were profiled, so that a new window is worth it.

A change must last three steps, so that a loss that is averaged now and then, or an evaluation, is none.
"""
from .collectives import traffic

LASTING_STEPS = 3
BYTES_TOLERANCE = 0.2


class Behaviour:
    def __init__(self):
        self.reset()

    def reset(self):
        self.compressing = False       # a comm hook compressed in the running step
        self._started = False          # a hook's warm-up ended since the last judgement
        self._profiled = []            # (bytes, main dtype, compressing) of the steps of the last window
        self._different = {}           # reason → how many steps in a row

    def hook_started(self):
        self._started = True

    def take_step(self):
        """What the step that ends did: (bytes per rank, dtype of most of them, whether a hook compressed)."""
        main = max(traffic.by_dtype, key=traffic.by_dtype.get) if traffic.by_dtype else None
        step = (traffic.bytes, main, self.compressing)
        traffic.reset()
        self.compressing = False
        return step

    def profiled(self, steps):
        """The steps inside the last window: what later ones are compared with."""
        self._profiled = steps
        self._different.clear()
        self._started = False

    def judge(self, step):
        """Why a new window is due, or None."""
        if not self._profiled:
            return None
        if self._started:
            self._started = False
            return "hook started"
        size, main, compressing = step
        sizes = [known[0] for known in self._profiled]
        low, high = min(sizes) * (1 - BYTES_TOLERANCE), max(sizes) * (1 + BYTES_TOLERANCE)
        wires = {known[1] for known in self._profiled} - {None}
        differences = {
            "compression began": compressing and not any(known[2] for known in self._profiled),
            "wire dtype changed": main is not None and bool(wires) and main not in wires,
            "bytes changed": not low <= size <= high,
        }
        for reason, differs in differences.items():
            self._different[reason] = self._different.get(reason, 0) + 1 if differs else 0
            if self._different[reason] >= LASTING_STEPS:
                return reason
        return None


behaviour = Behaviour()
