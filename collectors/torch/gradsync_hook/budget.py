"""Keeps the hook's own time below GSD_BUDGET percent of the steps: what costs most and can be spared goes first."""
from . import activation, group_hooks, host_sync
from .state import CALL_SITE, COMPLETION, COST_NAMES, HOST_SYNC, state
from .steps import steps

DEFAULT_PERCENT = 0.5


def _without_completion():
    state.follow_completion = False   # collectives then end with the wait for them
    group_hooks.unwatch_all()         # and those that C++ issues are not seen
    steps.next_look = 0               # which `coverage` has to say


def _without_call_sites():
    state.find_call_sites = False


_OPTIONAL = {COMPLETION: _without_completion, HOST_SYNC: host_sync.drop_optional, CALL_SITE: _without_call_sites}


class Budget:
    """Called every few steps, outside profiler windows."""

    def __init__(self, percent):
        self.percent = percent
        self.dropped = []
        self._before = list(state.cost)

    def __call__(self, steps, self_ns, steps_ns):
        share = 100.0 * self_ns / max(steps_ns, 1)
        if share > self.percent:
            self._drop(share, steps)
        self._before = list(state.cost)

    def _drop(self, share, steps):
        candidates = [(state.cost[part] - self._before[part], part) for part in _OPTIONAL if part not in self.dropped]
        cost, part = max(candidates, default=(0, None))
        if cost <= 0:
            activation.tell("budget.exceeded", "%.2f %% of the step over %d steps, nothing left to drop"
                            % (share, steps))
            return
        self.dropped.append(part)
        _OPTIONAL[part]()
        activation.tell("budget.dropped", ", ".join(COST_NAMES[part] for part in self.dropped))
        activation.tell("budget.reason", "%.2f %% of the step over %d steps, allowed %g %%"
                        % (share, steps, self.percent))


def from_text(text):
    try:
        percent = float(text)
    except (TypeError, ValueError):
        percent = DEFAULT_PERCENT
    return Budget(percent if percent >= 0 else DEFAULT_PERCENT)
