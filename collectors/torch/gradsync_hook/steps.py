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
from .state import QUALITY, STEP, WINDOW, clock, state

UNOPENED = -1
BUDGET_STEPS = 20
SETTLED_AT = 10   # until then names and code are looked up for the first time, and DDP samples its own times
FIRST_LOOK = 2


class Steps:
    def __init__(self):
        self.budget = None         # f(steps, self ns, step ns) every BUDGET_STEPS outside profiler windows
        self.window = None         # deep profiler windows: begins_deep(number), at_step(number)
        self.experiment = None     # f() → (variant, block it counts in or None) of the step that begins; run --ab
        self.pass_finished = None  # f() at the end of each backward pass; run --quality
        self.look = None           # f(number) → number of the step at whose beginning it wants to be called next
        self.first, self.last = 0, None   # GSD_STEPS: first <= recorded < last
        self.reset()

    def reset(self):
        self.pending = UNOPENED    # end of the last optimiser step; 0 = none since the boundary
        self.number = -1
        self.record = 0            # event reference of the running step
        self.boundary = 0
        self.deep = 0
        self.evaluations = 0       # forwards without gradients since the boundary
        self.optimizers = 0        # how many have been seen
        self._stepped = []         # their names, since the boundary
        self.next_look = FIRST_LOOK
        self._cost_reported = self._asked_reported = 0
        self._judged = [0, 0, 0]   # steps, self ns, step ns since the last judgement of the budget

    def optimizer_stepped(self, name):
        """An optimiser has finished its step, or GradScaler has decided to skip it."""
        self.pending = clock()
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
        if self.optimizers > 1 and self._stepped:
            library.attr_str(self.record, library.string("optimizers"), library.string(",".join(self._stepped)))
        if self.evaluations:
            library.attr_int(self.record, library.string("evaluations"), self.evaluations)
        self._stepped = []
        self.evaluations = 0
        total = sum(state.cost) - state.cost[WINDOW]   # deep steps are judged apart, and the window says its own
        spent, self._cost_reported = total - self._cost_reported, total
        asked, self._asked_reported = state.cost[QUALITY] - self._asked_reported, state.cost[QUALITY]
        library.self_ns(max(spent, 0))
        if self.boundary and not self.deep and self.number >= SETTLED_AT:
            judged = self._judged
            judged[0] += 1
            judged[1] += spent - asked   # it has a budget of its own
            judged[2] += boundary - self.boundary
            if judged[0] == BUDGET_STEPS:
                self.budget(*judged)
                self._judged = [0, 0, 0]

    def _begin(self, boundary):
        self.number += 1
        self.boundary = boundary
        state.on = state.armed and self.first <= self.number and (self.last is None or self.number < self.last)
        self.deep = int(self.window is not None and self.window.begins_deep(self.number))
        variant, block = (0, None) if self.experiment is None else self.experiment()
        self.record = state.library.step(boundary, variant, self.deep)
        if block is not None:
            state.library.attr_int(self.record, state.library.string("ab_block"), block)
        if self.window is not None:
            self.window.at_step(self.number)
        if self.number >= self.next_look:
            self.next_look = self.look(self.number)

    def mark_deep(self):
        """A profiler window opens, closes or is being saved in the running step."""
        if self.record and not self.deep:
            self.deep = 1
            state.library.step_deep()


steps = Steps()
