"""The passes in which run --quality looks at more than sums: range of the numbers, and what the hook keeps back.

    p = gradient + memory before          what was sent of it = p - memory after          cosine = <p, sent> / |p||sent|

A compressor that keeps exactly what it does not send, and sends it at the best scale, has the cosine
sqrt(1 - |memory after|^2 / |p|^2); it says nothing about whether training converges.
"""
import math

from . import activation, quality_events, residuals
from .sampling import Samples

TINY = 2.0 ** -25        # rounds to zero in half precision
SUBNORMAL = 2.0 ** -14   # loses digits there


class ProbePass:
    """Of this rank alone: no other rank takes part."""

    def __init__(self, torch, hook, hook_state):
        self._torch, self._hook, self._state = torch, hook, hook_state
        self._ranges = {}     # bucket → (elements, min, max of the gradient)
        self._weights = None
        self._before = self._after = self._gradient = None   # samples
        self._remembers = False

    def settled(self, sampling):
        self._weights = sampling.weights
        self._before, self._after = Samples(self._torch, sampling), Samples(self._torch, sampling)
        self._gradient = self._torch.zeros_like(self._before.values)

    def memory(self, sampling, samples):
        """Fills in what error feedback keeps back; False: not found in every bucket."""
        name = None
        for index, bucket in enumerate(sampling.buckets):
            name, tensor = residuals.find(self._hook, self._state, index, bucket.elements)
            if tensor is None:
                break
            samples.take(index, tensor)
        activation.tell("quality.memory", "none found" if name is None else "in %s" % name)
        return name is not None

    def begin(self, sampling):
        """Before the first bucket's hook."""
        self._ranges = {}
        self._remembers = sampling is not None and self.memory(sampling, self._before)

    def raw(self, index, buffer):
        """Before the hook of a bucket."""
        low, high = self._torch.aminmax(buffer)
        self._ranges[index] = (buffer.numel(), low, high)

    def received(self, values, sampling, gradient, number, later):
        """After backward. `values`: [(bucket, tensor)]; `gradient`: samples of this rank's, None when there are none."""
        ranges, self._ranges = self._ranges, {}
        torch, ends = self._torch, []
        for index, value in values:
            ends += [*ranges[index][1:], *torch.aminmax(value)]
        numbers = [torch.stack(ends).double()]
        size = sum(entry[0] for entry in ranges.values())
        if gradient is not None:
            magnitude = gradient.abs()
            nonzero = magnitude > 0
            numbers.append(torch.stack([(nonzero & (magnitude <= TINY)).sum(),
                                        (nonzero & (magnitude < SUBNORMAL)).sum(), nonzero.sum()]).double())
            if self._remembers and self.memory(sampling, self._after):
                numbers.append(self._kept(gradient))
        count, with_samples = len(values), gradient is not None
        later.read(torch.cat(numbers), lambda said: _tell(number, size, count, said, with_samples))

    def _kept(self, gradient):
        """[|p|², |memory|², |sent|², <p, sent>, |gradient|²] of this pass."""
        p = gradient + self._before.values
        kept = self._after.values
        sent = p - kept
        return self._torch.mv(self._torch.stack([p * p, kept * kept, sent * sent, p * sent, gradient * gradient]),
                              self._weights).double()


def _tell(number, size, buckets, said, with_samples):
    ends, rest = said[:4 * buckets], said[4 * buckets:]
    raw = [end for at, end in enumerate(ends) if at % 4 < 2]
    came = [end for at, end in enumerate(ends) if at % 4 >= 2]
    tiny, subnormal, nonzero = rest[:3] if with_samples else (0, 0, 0)
    quality_events.range_looked_at(number, size, max(abs(end) for end in raw), all(map(math.isfinite, raw)),
                                   all(map(math.isfinite, came)), tiny, subnormal, nonzero)
    if len(rest) == 8:
        p, kept, sent, product, gradient = rest[3:]
        if p > 0 and sent > 0 and gradient > 0 and math.isfinite(p + sent + kept):
            quality_events.hook_looked_at(number, product / math.sqrt(p * sent), math.sqrt(max(0.0, 1 - kept / p)),
                                          math.sqrt(kept / gradient))


def value_of(future):
    value = future.value()
    return value[0] if isinstance(value, (list, tuple)) else value
