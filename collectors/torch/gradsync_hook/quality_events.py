"""The events of run --quality (docs/events.md). Ratios travel as whole millionths; what has no value is left out."""
import math

from . import vocabulary as v
from .event_name import EventName
from .state import clock, state
from .window_sums import ROWS

WINDOW_PASSES = 32    # shorter windows are not reported
MOST_LAYERS = 64      # of one window; those that look worst

_WINDOW = EventName(v.MARK, v.NO_PHASE, "quality.window")
_HOOK = EventName(v.MARK, v.NO_PHASE, "quality.hook")
_RANGE = EventName(v.MARK, v.NO_PHASE, "quality.range")
_REPLICA = EventName(v.MARK, v.NO_PHASE, "quality.replica")
_MEMORY = EventName(v.MARK, v.NO_PHASE, "quality.memory")
_COST = EventName(v.MARK, v.NO_PHASE, "quality.cost")
_RTT = EventName(v.MARK, v.NO_PHASE, "quality.rtt")


def _write(name, group, number, size, **attributes):
    """A mark now; attributes that are None or no number are left out."""
    if not state.active:
        return
    library, now = state.library, clock()
    where = library.string(group) | max(number, 0) << 32
    event = library.event(name.what[0] or name.pack(0), int(size), where, now, now)
    for key, value in attributes.items():
        if value is not None and math.isfinite(value):
            library.attr_int(event, library.string(key), int(round(value)))


def _ratio(above, below):
    return 1e6 * above / below if below > 0 else None


def _cosine(product, one, other):
    return _ratio(product, math.sqrt(one * other)) if one > 0 and other > 0 else None


class WindowWriter:
    """Of one Sampling. `write` takes the numbers of Sums.per_layer, layer after layer."""

    def __init__(self, sampling):
        self._layers = sampling.layers
        self._longest = 0

    def write(self, number, level, passes, kept, numbers):
        """Window of `passes` that ended with pass `number`; `kept`: the memory of error feedback is in it."""
        if passes < WINDOW_PASSES:
            return
        count = len(self._layers)
        rows = [dict(zip(ROWS, numbers[len(ROWS) * layer:])) for layer in range(count)]
        total = dict.fromkeys(ROWS, 0.0)
        for layer, row in zip(self._layers, rows):
            for key in ROWS:
                row[key] *= layer.elements / layer.samples
                total[key] += row[key]
        elements = sum(layer.elements for layer in self._layers)
        self._one("all", number, passes, elements, total, kept, len(rows))
        if level >= self._longest:
            self._longest = level
            order = sorted(range(count), key=lambda at: _worth(rows[at]))[:MOST_LAYERS]
            for at in sorted(order):
                self._one(self._layers[at].name, number, passes, self._layers[at].elements, rows[at], kept, None)

    @staticmethod
    def _one(group, number, passes, elements, row, kept, layers):
        norm = math.sqrt(row["true"]) / passes if row["true"] >= 0 else None
        _write(_WINDOW, group, number, elements, passes=passes, layers=layers,
               cosine_ppm=_cosine(row["product"], row["true"], row["received"]),
               norm_ratio_ppm=_ratio(math.sqrt(row["received"]), math.sqrt(row["true"])) if row["true"] > 0 else None,
               norm_log2_milli=1000 * math.log2(norm) if norm else None,
               memory_cosine_ppm=_cosine(row["implied_product"], row["implied"], row["received"]) if kept else None,
               sent_ppm=_ratio(row["sent"], elements * passes),
               moved_ppm=_ratio(row["moved"], elements),
               nonfinite_true=row["bad_true"] or None, nonfinite_received=row["bad_received"] or None)


def _worth(row):
    """Layers that look worst come first: NaN, then the least that is received of what there was."""
    if not math.isfinite(row["true"]) or not math.isfinite(row["received"]):
        return -1.0
    return row["product"] / row["true"] if row["true"] > 0 else 2.0


def hook_looked_at(number, cosine, expected, residual):
    """One pass of this rank: cosine between p = gradient + memory and what was sent of it, what the method implies,
    and the rms of the memory over that of the gradient."""
    _write(_HOOK, "all", number, 0, cosine_ppm=1e6 * cosine, expected_ppm=1e6 * expected,
           residual_milli=1000 * residual)


def range_looked_at(number, elements, largest, raw_finite, received_finite, tiny, subnormal, nonzero):
    """One pass of this rank, before and after the exchange; `tiny`, `subnormal` of `nonzero` sampled places."""
    _write(_RANGE, "all", number, elements, raw_nonfinite=0 if raw_finite else 1,
           received_nonfinite=0 if received_finite else 1,
           largest_log2_milli=1000 * math.log2(largest) if raw_finite and largest > 0 else None,
           tiny_ppm=_ratio(tiny, nonzero), subnormal_ppm=_ratio(subnormal, nonzero))


def replicas_compared(number, values, difference):
    _write(_REPLICA, "all", number, values, difference_ppb=1e9 * difference)


def memory_looked_at(number, gradient_bytes, size, moved):
    _write(_MEMORY, "all", number, size, gradient_bytes=gradient_bytes, moved=1 if moved else 0)


def cost_so_far(number, spent_ns, took_ns):
    _write(_COST, "all", number, 0, spent_ns=spent_ns, took_ns=took_ns)


def store_answered(samples_ns):
    ordered = sorted(samples_ns)
    _write(_RTT, "store", 0, len(ordered), min_ns=ordered[0], median_ns=ordered[len(ordered) // 2], max_ns=ordered[-1])
