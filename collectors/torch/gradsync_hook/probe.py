"""run --quality at one DDP's communication hook: what goes in, what comes out, summed over windows and compared.

    before(bucket) ─▶ the user's hook ─▶ after(bucket, future) … end of backward ─▶ pass_finished()

The job's numbers are only read. In the first pass of a block one all-reduce of ours averages what all ranks summed up
(2 × samples + 2 numbers); whether it is issued depends on nothing but what was agreed, so that no rank waits for one
that another leaves out.
"""
import time

from . import agreement, groups, probe_pass, quality_events, replicas
from .agreed_passes import LIMIT_S, AgreedPasses
from .later import Later
from .memory_peak import PASSES as MEMORY_PASSES, MemoryPeak
from .sampling import Samples, Sampling, parts
from .state import QUALITY, state
from .window_sums import Sums, WindowSums

REPLICAS_EACH = 2   # blocks
SLOW_BLOCKS = 3     # in a row above the budget, before it gives up
PINGS = 11


class Probe(AgreedPasses):
    rehearsals = 3   # the layout of the samples must have been told by all, and read by all

    def __init__(self, torch, plan, ddp, hook, hook_state, tell, limit_s=LIMIT_S):
        self.torch, self.group = torch, ddp.process_group
        self.parameters = [p for p in ddp.module.parameters() if p.requires_grad]
        self.names = {id(p): name for name, p in ddp.module.named_parameters()}
        self.world = self.group.size()
        self.later, self.windows = Later(torch), WindowSums()
        self.memory = MemoryPeak(torch, self.parameters[0].device)
        self.sampling = self.writer = None
        self.seen = {}           # buckets of the running pass, until they are settled: index → (elements, parts)
        self.summing = False     # the running block counts
        self.block = 0
        self.look_at = probe_pass.ProbePass(torch, hook, hook_state)
        self.futures = []        # (index, future) of the running pass
        self.valid, self.open = True, False   # nothing of this block was missed; a pass runs
        self.averaging = []      # what is being averaged: (work, vector, Sums of this rank, last pass)
        self.spent_ns = self.block_ns = self.slow = 0
        self.cost = 0, 0         # ns of ours, of the job, in all blocks that counted
        talk = agreement.of_group(torch, self.group, groups.label(self.group), "quality")
        quality_events.store_answered([self._ping(talk) for _ in range(PINGS)])
        super().__init__(plan, talk, tell, limit_s)

    @staticmethod
    def _ping(talk):
        started = time.monotonic_ns()
        talk.all_reported(-1)
        return time.monotonic_ns() - started

    # called around the user's hook, and at the end of backward

    def before(self, bucket):
        started = time.thread_time_ns()
        try:
            index = bucket.index()
            if index == 0:
                self._new_pass()
            self._read(index, bucket)
        except Exception as error:
            self._failed(error)
        self._charge(started)

    def after(self, bucket, future):
        try:
            if self.summing or self._probing():
                self.futures.append((bucket.index(), future))
        except Exception as error:
            self._failed(error)

    def pass_finished(self):
        if not self.open:   # of another model, or one that does not synchronise
            return
        self.open = False
        started = time.thread_time_ns()
        try:
            self._finish_pass()
        except Exception as error:
            self._failed(error)
        del self.futures[:]
        self._charge(started)

    def _failed(self, error):
        self.valid = False
        self.doubts("%s: %s" % (type(error).__name__, error))
        state.fault("quality", error)

    def _charge(self, started):
        spent = time.thread_time_ns() - started   # of this thread: waiting for the processor is not ours
        self.spent_ns += spent
        state.cost[QUALITY] += spent

    # a pass

    def _probing(self):
        return self.plan.is_probe(self.passes) and not self._over and state.active

    def _new_pass(self):
        if self.open:   # nobody told us that the last backward pass had ended
            self.valid = False
            del self.futures[:]
        self.open = True
        was_summing, started, of_thread = self.summing, time.monotonic_ns(), time.thread_time_ns()
        self.block = self.begin_pass()
        self.spent_ns += time.monotonic_ns() - started - (time.thread_time_ns() - of_thread)   # waiting for the store
        if self.plan.is_boundary(self.passes):
            if was_summing:
                self._average()
            self.summing = self.runs(self.block) and self.sampling is not None
            if self.summing:
                self._begin_block()
            if not self._over and self.block % REPLICAS_EACH == 0:
                self._compare_replicas()
            self._judge_cost()
        self._collect()
        self.later.poll()
        if self.passes < MEMORY_PASSES:
            self.memory.before()

    def _read(self, index, bucket):
        probing = self._probing()
        settling = self.sampling is None and self.passes < self.plan.first
        if not (self.summing or probing or settling):
            return
        buffer = bucket.buffer()
        if index == 0:
            self.seen.clear()
            if probing:
                self.look_at.begin(self.sampling)
        if settling:
            self.seen[index] = (buffer.numel(), parts(bucket, self.names), buffer.device)
        elif self.sampling is not None:
            self.gradient.take(index, buffer)
        if probing:
            self.look_at.raw(index, buffer)

    def _finish_pass(self):
        if self.passes < MEMORY_PASSES:
            self._tell_memory()
        taken = 0
        if self.sampling is not None:
            taken, self.gradient.taken = self.gradient.taken, 0
        if self.futures or self.summing:
            values = [(index, probe_pass.value_of(future)) for index, future in self.futures]
            if self.summing:
                self._receive(values, taken)
            if self._probing():
                whole = self.sampling is not None and taken == len(self.sampling.buckets)
                self.look_at.received(values, self.sampling, self.gradient.values if whole else None, self.passes,
                                      self.later)
        if self.summing and self.plan.position(self.passes) == self.plan.block - 1:
            self._add_memory(-1)
        if self.sampling is None and self.passes == self.plan.first - 1 and self.seen:
            self._settle()

    def _settle(self):
        seen = [self.seen[index] for index in sorted(self.seen)]
        self.sampling = Sampling(self.torch, [entry[:2] for entry in seen], seen[0][2])
        self.writer = quality_events.WindowWriter(self.sampling)
        self.gradient, self.recent, self.memories = [Samples(self.torch, self.sampling) for _ in range(3)]
        self.look_at.settled(self.sampling)

    def _tell_memory(self):
        found = self.memory.after()
        if found is not None and self.passes > 0:   # in the first pass DDP and torch set themselves up
            quality_events.memory_looked_at(self.passes, sum(p.numel() * p.element_size() for p in self.parameters),
                                            *found)
        if self.passes == MEMORY_PASSES - 1:
            self.memory.close()

    # the sums of a block

    def _begin_block(self):
        self.true, self.received, self.sent, self.kept = [self.torch.zeros_like(self.recent.values) for _ in range(4)]
        self.has_memory, self.valid, self.added = True, True, 0
        self._add_memory(1)

    def _add_memory(self, sign):
        """What error feedback keeps back, at the samples."""
        self.has_memory = self.has_memory and self.look_at.memory(self.sampling, self.memories)
        if self.has_memory:
            self.kept.add_(self.memories.values, alpha=sign)

    def _receive(self, values, taken):
        for index, value in values:
            self.recent.take(index, value)
        if not len(values) == taken == len(self.sampling.buckets):
            raise ValueError("%d and %d of %d buckets were seen" % (taken, len(values), len(self.sampling.buckets)))
        self.true.add_(self.gradient.values)
        self.received.add_(self.recent.values)
        self.sent.add_(self.recent.values != 0)
        self.added += 1

    def _average(self):
        """One all-reduce of ours, whatever happened to this rank's sums; what is wrong is left out by all."""
        count = self.sampling.count
        good = self.valid and self.added == self.plan.block
        try:
            vector = self.torch.cat([self.true, self.kept, self.true.new_tensor([1.0 if good else 0.0,
                                                                                 1.0 if self.has_memory else 0.0])])
        except Exception as error:
            self._failed(error)
            vector = self.torch.zeros(2 * count + 2, device=self.sampling.device)
        thread = state.thread
        thread.ours, outer, thread.issuing = True, thread.issuing, True
        try:
            work = self.torch.distributed.all_reduce(vector, group=self.group, async_op=True)
        finally:
            thread.ours, thread.issuing = False, outer
        sums = Sums(0, self.plan.block, None, self.received, None, self.sent)
        self.averaging.append((work, vector, sums, self.passes - 1))

    def _collect(self):
        """What has been averaged in the meantime."""
        while self.averaging and self.averaging[0][0].is_completed():
            _, vector, sums, number = self.averaging.pop(0)
            count = self.sampling.count
            sums.true = vector[:count] / self.world
            sums.kept = vector[count:2 * count] / self.world
            self.later.read(vector[2 * count:], lambda said, sums=sums, number=number: self._add(sums, number, said))

    def _add(self, sums, number, said):
        if said[0] != self.world:
            self.windows.interrupted()
            return
        if said[1] != self.world:
            sums.kept = None
        for window in self.windows.add(sums):
            if window.passes < quality_events.WINDOW_PASSES:
                continue
            table = window.per_layer(self.torch, self.sampling.sizes)
            self.later.read(table, lambda numbers, window=window: self.writer.write(
                number, window.level, window.passes, window.kept is not None, numbers))

    # what else is agreed

    def place(self, block):
        layout = self.sampling.digest if self.sampling is not None else "not known"
        return super().place(block) + ", layout " + (layout if block else "open")

    def look(self, block):
        if block > 0 and self.sampling is None:
            self.doubts("the ends of backward passes are not seen, so no bucket is known")

    def _compare_replicas(self):
        values = replicas.sample(self.torch, self.parameters)
        if values is not None:
            number = self.passes
            self.later.read(values, lambda said: replicas.compare(self.talk, number, said))

    def pass_took(self, number, block, spent_ns):
        self.block_ns += spent_ns

    def _judge_cost(self):
        """More than the budget in several blocks in a row: this rank wants it to end, so it ends for all."""
        spent, self.spent_ns = self.spent_ns, 0
        took, self.block_ns = self.block_ns, 0
        if not self.runs(self.block - 1) or took <= 0:
            return
        self.cost = self.cost[0] + spent, self.cost[1] + took
        if self.block % REPLICAS_EACH == 0:
            quality_events.cost_so_far(self.passes, *self.cost)
        share = 100.0 * spent / took
        self.slow = self.slow + 1 if share > self.plan.budget_percent else 0
        if self.slow >= SLOW_BLOCKS:
            self.doubts("it cost %.2f %% of the step, allowed is %g %%" % (share, self.plan.budget_percent))
