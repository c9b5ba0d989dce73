"""Keeps the hook's own time below GSD_BUDGET percent of the steps: what costs most and can be spared goes first."""
from . import activation, host_sync
from .state import CALL_SITE, COMPLETION, COST_NAMES, HOST_SYNC, state

STEPS_JUDGED = 20
DEFAULT_PERCENT = 0.5


def _without_completion():
    state.follow_completion = False   # collectives then end with the wait for them


def _without_call_sites():
    state.find_call_sites = False


_OPTIONAL = {COMPLETION: _without_completion, HOST_SYNC: host_sync.drop_optional, CALL_SITE: _without_call_sites}


class Budget:
    """Called for every finished step outside profiler windows."""

    def __init__(self, percent):
        self.percent = percent
        self.dropped = []
        self.reset()

    def reset(self):
        self._steps = self._spent = self._length = 0
        self._before = list(state.cost)

    def __call__(self, spent_ns, step_ns):
        self._steps += 1
        self._spent += spent_ns
        self._length += step_ns
        if self._steps < STEPS_JUDGED:
            return
        share = 100.0 * self._spent / self._length
        if share > self.percent:
            self._drop(share)
        self.reset()

    def _drop(self, share):
        candidates = [(state.cost[part] - self._before[part], part) for part in _OPTIONAL if part not in self.dropped]
        cost, part = max(candidates, default=(0, None))
        if cost <= 0:
            activation.tell("budget.exceeded", "%.2f %% of the step over %d steps, nothing left to drop"
                            % (share, STEPS_JUDGED))
            return
        self.dropped.append(part)
        _OPTIONAL[part]()
        activation.tell("budget.dropped", ", ".join(COST_NAMES[part] for part in self.dropped))
        activation.tell("budget.reason", "%.2f %% of the step over %d steps, allowed %g %%"
                        % (share, STEPS_JUDGED, self.percent))


def from_text(text):
    try:
        percent = float(text)
    except (TypeError, ValueError):
        percent = DEFAULT_PERCENT
    return Budget(percent if percent > 0 else DEFAULT_PERCENT)
