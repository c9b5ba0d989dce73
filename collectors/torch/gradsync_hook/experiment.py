"""run --ab: in some blocks of passes the user's hook is left out, and all ranks agree on which.

    registered ─▶ rehearsal ─▶ running ─▶ finished | stopped (precise enough) | off (could not judge)

How they agree is in `agreed_passes`.
"""
from . import activation, precision, schedule
from .agreed_passes import LIMIT_S, AgreedPasses
from .state import state
from .steps import steps


class Experiment(AgreedPasses):
    """`plan`: a Schedule; `replace(bucket)` is the hook of a bypassed pass."""

    def __init__(self, plan, talk, tell, replace, leads, limit_s=LIMIT_S):
        self.replace = replace
        self.precision = precision.Precision(plan) if leads else None
        self.bypassed = 0            # passes so far
        self.bypass = False
        self._step_at_boundary = 0
        super().__init__(plan, talk, tell, limit_s)

    def at_bucket(self, index):
        """Whether this bucket goes without the user's hook. Called for every bucket, on the thread that reduces."""
        if index == 0:
            block = self.begin_pass()
            self.bypass = block < self.ends_at and self.plan.variant(block) == schedule.REPLACED
            self.bypassed += self.bypass
        return self.bypass

    def of_next_step(self):
        """(variant, number of the block it counts in or None) of the step that begins, which has one pass."""
        number = self.passes + 1
        block = self.plan.block_of(number)
        if not self.runs(block):
            return schedule.USERS, None
        counts = self.plan.position(number) >= self.plan.drop
        return self.plan.variant(block), block - schedule.REHEARSALS if counts else None

    def finished(self):
        return "finished after %d quadruples" % self.plan.quadruples

    def place(self, block):
        return super().place(block) + ", step %d" % steps.number

    def look(self, block):
        """One pass in each step, else a block is not what it is taken for: no_sync(), accumulation, uneven inputs."""
        made = steps.number - self._step_at_boundary
        self._step_at_boundary = steps.number
        if block >= schedule.REHEARSALS and made != self.plan.block:
            self.doubts("%d steps with %d synchronised passes: gradient accumulation, no_sync() or uneven inputs"
                        % (made, self.plan.block))

    def pass_took(self, number, block, spent_ns):
        if self.precision is not None and block < self.ends_at:
            self.precision.add(number, spent_ns)

    def may_stop(self):
        return self.precision is not None and self.precision.suffices()

    def said(self, block):
        if state.active:
            activation.tell("ab.bypassed_passes", self.bypassed)
