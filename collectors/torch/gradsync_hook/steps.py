"""Which stretch of time is one training step.

    … optimizer.step │ next batch, forward, backward, optimizer.step, optimizer.step │ next batch …
                     ▲                                                               ▲
          boundary: the end of the last optimiser step before the first forward, batch or backward that follows

So several backward passes (gradient accumulation) and several optimisers in a row are one step, a closure stays
inside its step, and everything between two steps belongs to the later one. Optimisers that take turns with a
forward in between (a GAN) make one step each; the attribute `optimizers` says which. A step that GradScaler skips
counts. Optimisers that step inside a backward pass end the step with that pass. Without any optimiser there are no
boundaries here: the timeline looks for repetition.
"""
from .state import STEP, WINDOW, clock, state

UNOPENED = -1
MOST_OPTIMIZERS = 64


class Steps:
    def __init__(self):
        self.budget = None         # f(self ns, step ns) for every finished step outside a profiler window
        self.window = None         # deep profiler windows: begins_deep(number), at_step(number)
        self.observers = []        # f(number) at every step that begins
        self.first, self.last = 0, None   # GSD_STEPS: first <= recorded < last
        self.reset()

    def reset(self):
        self.pending = UNOPENED    # end of the last optimiser step; 0 = none since the boundary
        self.number = -1
        self.record = 0            # event reference of the running step
        self.boundary = 0
        self.deep = 0
        self.evaluations = 0       # forwards without gradients since the boundary
        self._optimizers = {}      # id → "Class#k"
        self._stepped = []
        self._cost_reported = 0

    def optimizer_stepped(self, optimizer):
        """An optimiser has finished its step, or GradScaler has decided to skip it."""
        self.pending = clock()
        name = self._optimizers.get(id(optimizer))
        if name is None:
            name = "%s#%d" % (type(optimizer).__name__, len(self._optimizers))
            if len(self._optimizers) < MOST_OPTIMIZERS:
                self._optimizers[id(optimizer)] = name
        if name not in self._stepped:
            self._stepped.append(name)

    def advance(self):
        """Closes the step at the pending boundary and opens the next. For callers that saw `pending` set."""
        boundary, self.pending = self.pending, 0  # no call in between: only one thread gets it
        if boundary == 0:
            return
        started, others = clock(), state.cost[WINDOW]
        try:
            if boundary == UNOPENED:
                boundary = started
            self._finish(boundary)
            self._begin(boundary)
        except Exception as error:
            state.fault("step", error)
        state.cost[STEP] += clock() - started - (state.cost[WINDOW] - others)

    def _finish(self, boundary):
        library = state.library
        if len(self._optimizers) > 1 and self._stepped:
            library.attr_str(self.record, library.string("optimizers"), library.string(",".join(self._stepped)))
        if self.evaluations:
            library.attr_int(self.record, library.string("evaluations"), self.evaluations)
        self._stepped = []
        self.evaluations = 0
        total = sum(state.cost)
        spent, self._cost_reported = total - self._cost_reported, total
        library.self_ns(max(spent, 0))
        if self.budget is not None and self.boundary and not self.deep:
            self.budget(spent, boundary - self.boundary)

    def _begin(self, boundary):
        self.number += 1
        self.boundary = boundary
        state.on = state.armed and self.first <= self.number and (self.last is None or self.number < self.last)
        self.deep = int(self.window is not None and self.window.begins_deep(self.number))
        self.record = state.library.step(boundary, 0, self.deep)
        if self.window is not None:
            self.window.at_step(self.number)
        for observer in self.observers:
            observer(self.number)

    def mark_deep(self):
        """A profiler window opens, closes or is being saved in the running step."""
        if self.record and not self.deep:
            self.deep = 1
            state.library.step_deep()


steps = Steps()
