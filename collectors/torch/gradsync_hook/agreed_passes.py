"""Blocks of passes in which all ranks do the same, agreed without waiting: the frame of run --ab and run --quality.

A rank never decides alone: what happens in block K + 1 was agreed when block K began, on what all ranks had said when
block K - 1 began. Whoever has a doubt says so there, and it is over for everybody and for good. It goes on when the
observation of this process is off, because the other ranks count on it.
"""
from . import schedule
from .agreement import OFF, STOP, YES
from .state import clock, state

LIMIT_S = 300.0   # a pass, or a talk with the store, that takes longer ends it


class AgreedPasses:
    """Of one DDP. `plan`: first, block, blocks, digest, block_of(pass), is_boundary(pass), position(pass); `talk`: an
    Agreement; `tell(text)` writes the fact of its state.

    ConnectionError and RuntimeError of the store come out of the constructor, and of nothing else.
    """

    rehearsals = schedule.REHEARSALS   # blocks in which nothing is done yet

    def __init__(self, plan, talk, tell, limit_s=LIMIT_S):
        self.plan, self.talk, self.tell, self.limit_ns = plan, talk, tell, int(limit_s * 1e9)
        self.passes = -1             # number of the running pass
        self.ends_at = plan.blocks   # block from which nothing is done any more
        self.doubt = None            # why this rank thinks that it must end
        self._over = False
        self._undecided = None       # block in which the store did not answer
        self._pass_began = 0
        tell("waiting for pass %d" % plan.first)
        self._exchange(0)

    def doubts(self, reason):
        """Ends it at the next block; the first reason counts."""
        if self.doubt is None:
            self.doubt = reason

    def runs(self, block):
        """Whether it is agreed that this block is one of those that count."""
        return self.rehearsals <= block < self.ends_at

    def begin_pass(self):
        """At the first bucket of a pass, on the thread that reduces: number of the block it is in."""
        self.passes += 1
        number, block = self.passes, self.plan.block_of(self.passes)
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
                self.tell(self.finished())
        except Exception as error:   # the store does not answer, or a fault of ours: asked again in the next pass
            self.doubts("%s: %s" % (type(error).__name__, error))
            if self.plan.position(number) == self.plan.block - 1:
                self._end(block + 1, OFF + self.doubt)
        return block

    # what those that are built on it add

    def finished(self):
        return "finished"

    def place(self, block):
        """What the other ranks must say as well."""
        return "schedule %s, block %d, pass %d" % (self.plan.digest, block, self.passes)

    def look(self, block):
        """May doubt before this rank says that it takes part."""

    def pass_took(self, number, block, spent_ns):
        """Pass `number` is over; `block` is the one of the next."""

    def may_stop(self):
        return False

    def said(self, block):
        """A block begins, or all is over."""

    # the agreement

    def _watch_time(self, number, block):
        now = clock()
        spent, self._pass_began = now - self._pass_began, now
        if number == 0:
            return
        if spent > self.limit_ns:
            self.doubts("a pass took %.1f s" % (spent * 1e-9))
        self.pass_took(number - 1, block, spent)

    def _decide_next(self, block):
        if self._undecided == block:
            self._exchange(block)
            self._undecided = None

    def _exchange(self, block):
        started = clock()
        if not state.armed:
            self.doubts("the observation of a rank has ended")
        self.look(block)
        if self.doubt is None:
            self.doubt = self.talk.report(block, self.place(block))
        if block > 0 and self.doubt is None and not self.talk.all_reported(block - 1):
            self.doubt = "a rank has not reported"
        decided = self.talk.decide(block + 1, OFF + self.doubt if self.doubt else YES)
        if clock() - started > self.limit_ns:
            self.doubts("the job's store took %.1f s" % ((clock() - started) * 1e-9))
        if decided != YES:
            self._end(block + 1, decided)
        elif self.doubt is not None:      # too late for the next block
            self.talk.decide(block + 2, OFF + self.doubt)
        elif self.may_stop():
            self.talk.decide(block + 2, STOP)

    def _end(self, block, why):
        if not self._over:
            self._over = True
            self.ends_at = min(self.ends_at, block)
            self.tell("stopped, precise enough" if why == STOP else why)

    def _say(self, block):
        if block == self.rehearsals and not self._over:
            self.tell("running")
        self.said(block)
