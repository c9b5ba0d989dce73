"""Whether the ranks still train one model: some parameters as text in the job's store, compared with the first rank's."""
import time

from . import quality_events

TENSORS, EACH = 16, 4


def sample(torch, parameters):
    """At most TENSORS × EACH values, spread over the parameters; None when there are none to look at."""
    usable = [p for p in parameters if p.numel() and p.is_contiguous() and p.is_floating_point()]
    if not usable:
        return None
    stride = max(1, len(usable) // TENSORS)
    pieces = []
    for parameter in usable[::stride][:TENSORS]:
        flat = parameter.detach().view(-1)
        middle = max(0, flat.numel() // 2 - EACH // 2)
        pieces.append(flat[middle:middle + EACH].float())
    return torch.cat(pieces)


def compare(talk, number, values):
    """Tells the store, and writes how far this rank is from whoever was first, and when the store answered."""
    text = ",".join("%.9g" % value for value in values)
    started = time.monotonic_ns()
    first = talk.first_word("params/%d" % number, text)
    quality_events.store_answered([time.monotonic_ns() - started])
    difference = distance(values, [float(value) for value in first.split(",")])
    if difference is not None:
        quality_events.replicas_compared(number, len(values), difference)


def distance(ours, theirs):
    """||ours - theirs|| / ||theirs||; None when they cannot be compared (other sizes, NaN)."""
    if len(ours) != len(theirs):
        return None
    norm = sum(value * value for value in theirs) ** 0.5
    gap = sum((a - b) ** 2 for a, b in zip(ours, theirs)) ** 0.5
    if norm != norm or gap != gap or norm == float("inf") or gap == float("inf"):
        return None
    return gap / norm if norm > 0 else (0.0 if gap == 0 else None)
