"""Top-K by a histogram of magnitudes, as a communication hook for PyTorch's DistributedDataParallel.

    from histogram_topk_hook import HistogramTopKState, histogram_topk_hook
    model.register_comm_hook(HistogramTopKState(density=0.02), histogram_topk_hook)

An exact Top-K orders candidates; a threshold only needs counts. The bits of a float's magnitude grow with it, so that they
can be counted like whole numbers: one pass over the bucket fills a table of exponents by the top 8 bits of the mantissa, which
is then read in two levels. The sums of its rows tell the exponent in which the K-th largest value lies, that row tells the
bin. Everything above the bin is sent, and of the bin itself, whose values differ by less than 0.4 %, the first by position,
until there are exactly K: a message has a fixed size that every rank knows, nothing is padded, and on CUDA no count ever
travels to the host.

    exponent   ... 118 119 [120] 121 122        K-th largest value is in 120
    mantissa              0 .. [97] .. 255      and there in bin 97: sent are all above it, and the first of 97

Indices are int32 and travel with the values in one all-gather: 8 bytes an entry, where int64 indices take 12. What is not
sent stays in a residual and is added to the next gradient (error feedback). CPU and CUDA run the same code but for
places_on_host and places_on_device, which give the same; on CUDA the hook has a stream of its own, so that backward goes on
beside it.

Gradients must be float32. Under a GradScaler the residual is in units of the loss scale.
"""
import contextlib
import math
from typing import Dict, Optional, Tuple

import torch
import torch.distributed as dist

EXPONENTS, MANTISSAS = 256, 256
MANTISSA_SHIFT = 15  # 23 bits of mantissa, of which 8 stay


class HistogramTopKState:
    """What one rank keeps from step to step. `density` is the share of a bucket's entries that are sent."""

    def __init__(self, density: float = 0.02, process_group: Optional[dist.ProcessGroup] = None) -> None:
        if not 0 < density <= 1:
            raise ValueError("density must be above 0 and at most 1, not %r" % density)
        self.density = density
        self.group = process_group
        self._residuals: Dict[tuple, torch.Tensor] = {}
        self._stream: Optional["torch.cuda.Stream"] = None

    def entries(self, numel: int) -> int:
        """How many entries of `numel` are sent: never none, so that a bias of 10 entries is trained too."""
        return min(numel, max(1, math.ceil(self.density * numel)))

    def residual(self, key: tuple, like: torch.Tensor) -> torch.Tensor:
        """DDP fills other buckets after the first step: a residual belongs to the parameters that it was left by."""
        if key not in self._residuals:
            self._residuals = {old: kept for old, kept in self._residuals.items() if old[0] != key[0]}
            self._residuals[key] = torch.zeros_like(like)
        return self._residuals[key]

    def side_stream(self, tensor: torch.Tensor):
        """A context: on CUDA the state's own stream, behind what was queued so far; on a CPU nothing."""
        if not tensor.is_cuda:
            return contextlib.nullcontext()
        if self._stream is None:
            self._stream = torch.cuda.Stream(tensor.device)
        self._stream.wait_stream(torch.cuda.current_stream(tensor.device))
        tensor.record_stream(self._stream)
        return torch.cuda.stream(self._stream)


def count(keys: torch.Tensor, bins: int) -> torch.Tensor:
    """How many entries of the int32 tensor are 0, 1, … bins - 1: int32. bincount would ask for the largest value first."""
    ones = torch.ones((), dtype=torch.int32, device=keys.device).expand(keys.numel())
    return torch.zeros(bins, dtype=torch.int32, device=keys.device).scatter_add_(0, keys.long(), ones)


def boundary(counts: torch.Tensor, wanted: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
    """The highest bin with which at least `wanted` entries lie in it or above, and how many lie above it. Shapes 1."""
    from_top = counts.flip(0).cumsum(0)  # entries in the highest bin, in the highest two, …
    position = (from_top < wanted).sum().view(1)
    above = from_top.gather(0, position) - counts.flip(0).gather(0, position)
    return counts.numel() - 1 - position, above


def places_on_host(keys: torch.Tensor, threshold: torch.Tensor, k: int) -> torch.Tensor:
    candidates = (keys >= threshold).nonzero().view(-1)
    surely = keys[candidates] > threshold
    return torch.cat([candidates[surely], candidates[~surely]])[:k].to(torch.int32)


def places_on_device(keys: torch.Tensor, threshold: torch.Tensor, above: torch.Tensor, k: int) -> torch.Tensor:
    """As places_on_host, without nonzero(), which waits for its count: entry j is where a running count first reaches j."""
    order = torch.arange(1, k + 1, dtype=torch.int32, device=keys.device)
    surely = torch.searchsorted((keys > threshold).cumsum(0, dtype=torch.int32), order, out_int32=True)
    rest = torch.searchsorted((keys == threshold).cumsum(0, dtype=torch.int32), (order - above).to(torch.int32),
                              out_int32=True)
    return torch.where(order <= above, surely, rest)


def select(values: torch.Tensor, k: int) -> torch.Tensor:
    """Positions (int32, shape k) of the k largest magnitudes of the flat float32 tensor, up to the last bin's width."""
    keys = (values.view(torch.int32) >> MANTISSA_SHIFT) & (EXPONENTS * MANTISSAS - 1)  # without the sign
    table = count(keys, EXPONENTS * MANTISSAS).view(EXPONENTS, MANTISSAS)
    wanted = torch.full((1,), k, dtype=torch.int64, device=values.device)
    exponent, above_exponent = boundary(table.sum(1), wanted)
    mantissa, above_mantissa = boundary(table[exponent].view(-1), wanted - above_exponent)
    threshold = (exponent * MANTISSAS + mantissa).to(torch.int32)
    if keys.is_cuda:
        return places_on_device(keys, threshold, above_exponent + above_mantissa, k)
    return places_on_host(keys, threshold, k)


def compress(residual: torch.Tensor, gradient: torch.Tensor, k: int) -> torch.Tensor:
    """(int32, shape 2k) the positions and the bits of the values; what was not sent stays in `residual`."""
    residual += gradient
    indices = select(residual, k)
    places = indices.long()
    values = residual[places]
    residual.index_fill_(0, places, 0.0)
    return torch.cat([indices, values.view(torch.int32)])


def decompress(into: torch.Tensor, gathered: torch.Tensor) -> None:
    """The mean over the ranks, whose messages are the rows of `gathered`: rank by rank, so that all sum in one order."""
    ranks = gathered.shape[0]
    k = gathered.shape[1] // 2
    into.zero_()
    for message in gathered:
        into.index_add_(0, message[:k].long(), message[k:].view(torch.float32) / ranks)


def histogram_topk_hook(state: HistogramTopKState, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    """Sends the largest entries of the bucket; the future holds the mean over the ranks."""
    gradient = bucket.buffer()
    if gradient.dtype != torch.float32:
        raise TypeError("histogram_topk_hook compresses float32 gradients, not %s" % gradient.dtype)
    key = (bucket.index(), *(parameter.data_ptr() for parameter in bucket.parameters()))
    with state.side_stream(gradient):
        message = compress(state.residual(key, gradient), gradient, state.entries(gradient.numel()))
        gathered = message.new_empty(dist.get_world_size(state.group), message.numel())
        sent = dist.all_gather(list(gathered.unbind()), message, group=state.group, async_op=True).get_future()

        def finish(_: torch.futures.Future) -> torch.Tensor:
            decompress(gradient, gathered)
            return gradient

        return sent.then(finish)
