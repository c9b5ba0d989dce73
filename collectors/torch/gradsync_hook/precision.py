"""Whether enough is known: rank 0 asks its own clock, so that a job is not disturbed for longer than needed.

It looks at how narrow the interval is and never at where it lies, so that stopping favours no answer.
"""
from .schedule import QUADRUPLE, REHEARSALS, USERS

FEWEST_QUADRUPLES = 15   # the report judges from 10 on, and a rank may lose some
ENOUGH_PERCENT = 1.0     # half of the 95 % interval, of the step with the user's hook
STUDENT_T = 2.15         # two-sided 95 % at 14 degrees of freedom; smaller at more


class Precision:
    def __init__(self, plan):
        self.plan = plan
        self._times = {}          # block → ns of its counted passes
        self._differences = []    # ns, one per quadruple
        self._users = []          # ns, one per quadruple

    def add(self, number, spent):
        """Pass `number` took `spent` ns, up to the beginning of the next."""
        block = self.plan.block_of(number)
        if block < REHEARSALS or block >= self.plan.blocks or self.plan.position(number) < self.plan.drop:
            return
        times = self._times.setdefault(block, [])
        times.append(spent)
        if len(times) == self.plan.block - self.plan.drop and (block - REHEARSALS) % QUADRUPLE == QUADRUPLE - 1:
            self._close(block)

    def _close(self, last):
        medians = {USERS: [], 1 - USERS: []}
        for block in range(last - QUADRUPLE + 1, last + 1):
            times = sorted(self._times.pop(block, []))
            if times:
                medians[self.plan.variant(block)].append(times[len(times) // 2])
        if len(medians[USERS]) == 2 and len(medians[1 - USERS]) == 2:
            self._users.append(sum(medians[USERS]) / 2)
            self._differences.append(self._users[-1] - sum(medians[1 - USERS]) / 2)

    def suffices(self):
        count = len(self._differences)
        if count < FEWEST_QUADRUPLES:
            return False
        mean = sum(self._differences) / count
        deviation = (sum((value - mean) ** 2 for value in self._differences) / (count - 1)) ** 0.5
        return STUDENT_T * deviation / count ** 0.5 <= ENOUGH_PERCENT / 100 * sum(self._users) / count
