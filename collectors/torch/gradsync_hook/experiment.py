"""run --ab: in some blocks of passes the user's hook is left out, and all ranks agree on which.

    registered ─▶ rehearsal ─▶ running ─▶ finished | stopped (precise enough) | off (could not judge)

A rank never decides alone: what happens in block K + 1 was agreed when block K began, on what all ranks had said when
block K - 1 began. Whoever has a doubt says so there, and the experiment is off for everybody and for good. It goes on
when the observation of this process is off, because the other ranks count on it.
"""
from . import activation, precision, schedule
from .agreement import OFF, STOP, YES
from .state import clock, state
from .steps import steps

LIMIT_S = 300.0   # a pass, or a talk with the store, that takes longer ends the experiment


class Experiment:
    """Of one DDP. `plan`: a Schedule; `talk`: an Agreement; `replace(bucket)` is the hook of a bypassed pass.

    ConnectionError and RuntimeError of the store come out of the constructor, and of nothing else.
    """

    def __init__(self, plan, talk, replace, leads, limit_s=LIMIT_S):
        self.plan, self.talk, self.replace, self.limit_ns = plan, talk, replace, int(limit_s * 1e9)
        self.precision = precision.Precision(plan) if leads else None
        self.passes = -1             # number of the running pass
        self.bypassed = 0            # passes so far
        self.ends_at = plan.blocks   # block from which the user's hook runs again
        self.bypass = False
        self.doubt = None            # why this rank thinks that the experiment must end
        self._over = False
        self._undecided = None       # block in which the store did not answer
        self._pass_began = 0
        self._step_at_boundary = 0
        tell("waiting for pass %d" % plan.first)
        self._exchange(0)

    def at_bucket(self, index):
        """Whether this bucket goes without the user's hook. Called for every bucket, on the thread that reduces."""
        if index == 0:
            self.passes += 1
            self._begin_pass(self.passes)
        return self.bypass

    def of_next_step(self):
        """(variant, number of the block it counts in or None) of the step that begins, which has one pass."""
        number = self.passes + 1
        block = self.plan.block_of(number)
        if block < schedule.REHEARSALS or block >= self.ends_at:
            return schedule.USERS, None
        counts = self.plan.position(number) >= self.plan.drop
        return self.plan.variant(block), block - schedule.REHEARSALS if counts else None

    def doubts(self, reason):
        """Ends it at the next block; the first reason counts."""
        if self.doubt is None:
            self.doubt = reason

    def _begin_pass(self, number):
        block = self.plan.block_of(number)
        try:
            self._watch_time(number, block)
            if block < self.ends_at:
                if self.plan.is_boundary(number):
                    self._undecided = block
                self._decide_next(block)
                if self.plan.is_boundary(number):
                    self._say(block)
            elif not self._over:
                self._over = True
                self._say(block)
                tell("finished after %d quadruples" % self.plan.quadruples)
        except Exception as error:   # the store does not answer, or a fault of ours: asked again in the next pass
            self.doubts("%s: %s" % (type(error).__name__, error))
            if self.plan.position(number) == self.plan.block - 1:
                self._end(block + 1, OFF + self.doubt)
        self.bypass = block < self.ends_at and self.plan.variant(block) == schedule.REPLACED
        self.bypassed += self.bypass

    def _watch_time(self, number, block):
        now = clock()
        spent, self._pass_began = now - self._pass_began, now
        if number == 0:
            return
        if spent > self.limit_ns:
            self.doubts("a pass took %.1f s" % (spent * 1e-9))
        if self.precision is not None and block < self.ends_at:
            self.precision.add(number - 1, spent)

    def _decide_next(self, block):
        if self._undecided == block:
            self._exchange(block)
            self._undecided = None

    def _exchange(self, block):
        started = clock()
        if not state.armed:
            self.doubts("the observation of a rank has ended")
        self._look_at_steps(block)
        if self.doubt is None:
            text = "schedule %s, block %d, pass %d, step %d" % (self.plan.digest, block, self.passes, steps.number)
            self.doubt = self.talk.report(block, text)
        if block > 0 and self.doubt is None and not self.talk.all_reported(block - 1):
            self.doubt = "a rank has not reported"
        decided = self.talk.decide(block + 1, OFF + self.doubt if self.doubt else YES)
        if clock() - started > self.limit_ns:
            self.doubts("the job's store took %.1f s" % ((clock() - started) * 1e-9))
        if decided != YES:
            self._end(block + 1, decided)
        elif self.doubt is not None:      # too late for the next block
            self.talk.decide(block + 2, OFF + self.doubt)
        elif self.precision is not None and self.precision.suffices():
            self.talk.decide(block + 2, STOP)

    def _look_at_steps(self, block):
        """One pass in each step, else a block is not what it is taken for: no_sync(), accumulation, uneven inputs."""
        made = steps.number - self._step_at_boundary
        self._step_at_boundary = steps.number
        if block >= schedule.REHEARSALS and made != self.plan.block:
            self.doubts("%d steps with %d synchronised passes: gradient accumulation, no_sync() or uneven inputs"
                        % (made, self.plan.block))

    def _end(self, block, why):
        if not self._over:
            self._over = True
            self.ends_at = min(self.ends_at, block)
            tell("stopped, precise enough" if why == STOP else why)

    def _say(self, block):
        if block == schedule.REHEARSALS and not self._over:
            tell("running")
        if state.active:
            activation.tell("ab.bypassed_passes", self.bypassed)


def tell(text):
    """The fact `ab.state`."""
    if state.active:
        activation.tell("ab.state", text)
