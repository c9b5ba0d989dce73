"""Gradients in two levels, as a communication hook for PyTorch's DistributedDataParallel: 16 bits inside a host, 1 between.

    from two_level_hook import TwoLevelState, two_level_hook
    model.register_comm_hook(TwoLevelState(), two_level_hook)   # after init_process_group, on every rank

Inside a host the links are fast: there nothing needs to be selected, and half the bytes are enough. Between hosts each of
the G ranks of a host sends only its own G-th of the gradient, as signs and one scale, with error feedback:

    rank 0 ── fp16 ──┐                              ┌── 1 bit ──► rank 0 of the other hosts
    rank 1 ── fp16 ──┴─ each has 1/G of host's mean ┴── 1 bit ──► rank 1 of the other hosts
                                                     then fp16 again, inside the host

    bytes between hosts, per host and direction: n/8 with two hosts, where a dense fp32 ring sends about 2 · 4n

The 16-bit parts are added in float32 (a reduce-scatter made of an all-to-all and a sum): no sum overflows in half precision.
The scale is the mean of the magnitudes, which leaves the least error; with the largest magnitude the residual would grow
without bound. The residual is that of the own G-th, beside the gradient on its device, and survives a gradient that is not
finite: every rank then sees it in the result (a GradScaler skips the step), and the residual stays as it was.

Hosts are found from LOCAL_WORLD_SIZE (torchrun sets it) or, without it, from host names. Every host must have the same number
of ranks. On CUDA the hook has a stream of its own, where the exchanges queue behind each other; on a CPU it sends each
bucket on when the next one arrives, and collects them all at the last. No callback issues a collective: all ranks must issue
them in one order, and callbacks have none.

Gradients must be float32. Magnitudes above 65504 become infinite on the way, below 6e-8 zero: train under a GradScaler if
yours are. Under one the residual is in units of the loss scale.
"""
import contextlib
import os
import socket
from typing import Dict, List, Optional

import torch
import torch.distributed as dist

SIGNS = 8  # in a byte


def host_of_this_rank() -> str:
    """What ranks of one host have in common and ranks of others have not."""
    per_host = int(os.environ.get("LOCAL_WORLD_SIZE", 0))
    if per_host > 0 and int(os.environ.get("LOCAL_RANK", -1)) == dist.get_rank() % per_host:
        return "block %d" % (dist.get_rank() // per_host)
    return socket.gethostname()


def ranks_by_host(hosts: List[str]) -> List[List[int]]:
    """The ranks of each host; raises ValueError when hosts have different numbers of them."""
    found: Dict[str, List[int]] = {}
    for rank, host in enumerate(hosts):
        found.setdefault(host, []).append(rank)
    sizes = {host: len(ranks) for host, ranks in found.items()}
    if len(set(sizes.values())) != 1:
        raise ValueError("two_level_hook needs the same number of ranks on each host, not %s" % sizes)
    return list(found.values())


class TwoLevelState:
    """Groups and residuals of one rank. Every rank must make one, at the same point: it makes process groups.

    `hosts` names the host of each rank (a list of world size), for tests or unusual launchers; else it is found out.
    """

    def __init__(self, hosts: Optional[List[str]] = None) -> None:
        if hosts is None:
            hosts = [""] * dist.get_world_size()
            dist.all_gather_object(hosts, host_of_this_rank())
        by_host = ranks_by_host(hosts)
        self.local = self.peers = None
        for ranks in by_host:  # every rank takes part in making every group
            group = dist.new_group(ranks)
            if dist.get_rank() in ranks:
                self.local = group
                self.local_rank, self.local_size = ranks.index(dist.get_rank()), len(ranks)
        for ranks in zip(*by_host):
            group = dist.new_group(list(ranks))
            if dist.get_rank() in ranks:
                self.peers = group
        self.hosts = len(by_host)
        self.residuals: Dict[tuple, torch.Tensor] = {}
        self.on_the_way: List["Exchange"] = []
        self._stream: Optional["torch.cuda.Stream"] = None

    def residual(self, key: tuple, like: torch.Tensor) -> torch.Tensor:
        """DDP fills other buckets after the first step: a residual belongs to the parameters that it was left by."""
        if key not in self.residuals:
            self.residuals = {old: kept for old, kept in self.residuals.items() if old[0] != key[0]}
            self.residuals[key] = torch.zeros_like(like)
        return self.residuals[key]

    def side_stream(self, tensor: torch.Tensor):
        """A context: on CUDA the state's own stream, behind what was queued so far; on a CPU nothing."""
        if not tensor.is_cuda:
            return contextlib.nullcontext()
        if self._stream is None:
            self._stream = torch.cuda.Stream(tensor.device)
        self._stream.wait_stream(torch.cuda.current_stream(tensor.device))
        tensor.record_stream(self._stream)
        return torch.cuda.stream(self._stream)


def pack_signs(values: torch.Tensor) -> torch.Tensor:
    """(uint8, an eighth of a multiple of 8) a set bit is a negative value; bit j of byte i is value j·(n/8) + i."""
    rows = (values < 0).to(torch.uint8).view(SIGNS, -1)
    packed = rows[0].clone()
    for bit in range(1, SIGNS):
        packed |= rows[bit] << bit
    return packed


def unpack_signs(packed: torch.Tensor) -> torch.Tensor:
    """(float32) +1 and −1."""
    negative = torch.stack([(packed >> bit) & 1 for bit in range(SIGNS)]).view(-1)
    return 1.0 - 2.0 * negative.to(torch.float32)


def encode(part: torch.Tensor, residual: torch.Tensor, real: int) -> torch.Tensor:
    """(uint8, n/8 + 4) signs and scale of part + residual, of which `real` entries are more than padding."""
    total = part + residual
    scale = total.abs().sum() / max(1, real)
    packed = pack_signs(total)
    error = total - scale * unpack_signs(packed)
    error[real:] = 0.0  # padding carries nothing over
    residual.copy_(torch.where(torch.isfinite(scale), error, residual))
    return torch.cat([packed, scale.view(1).view(torch.uint8)])


def decode(message: torch.Tensor) -> torch.Tensor:
    return unpack_signs(message[:-4]) * message[-4:].clone().view(torch.float32)


class Exchange:
    """One bucket on its way. reduce(), send() and finish() follow each other, for all buckets in one order on all ranks."""

    def __init__(self, state: TwoLevelState, bucket: dist.GradBucket) -> None:
        self.state, self.buffer = state, bucket.buffer()
        if self.buffer.dtype != torch.float32:
            raise TypeError("two_level_hook sends float32 gradients, not %s" % self.buffer.dtype)
        self.key = (bucket.index(), *(parameter.data_ptr() for parameter in bucket.parameters()))
        per_rank = -(-self.buffer.numel() // state.local_size)
        self.part = -(-per_rank // SIGNS) * SIGNS  # entries that this rank answers for, padding included
        self.real = min(max(self.buffer.numel() - state.local_rank * self.part, 0), self.part)
        self.future = torch.futures.Future(devices=[self.buffer.device] if self.buffer.is_cuda else None)

    def reduce(self) -> None:
        """Starts the mean over the host: part r of every rank travels to rank r."""
        whole = self.buffer.new_zeros(self.part * self.state.local_size)
        whole[: self.buffer.numel()] = self.buffer
        self.sent = whole
        if self.state.local_size > 1:
            self.sent = whole.to(torch.float16)
            self.received = torch.empty_like(self.sent)
            self.work = dist.all_to_all_single(self.received, self.sent, group=self.state.local, async_op=True)

    def send(self) -> None:
        """Starts the 1-bit exchange with the same part of the other hosts."""
        mean = self.sent
        if self.state.local_size > 1:
            self.work.wait()
            mean = self.received.view(self.state.local_size, -1).float().mean(0)
        self.mean = mean
        if self.state.hosts > 1:
            message = encode(mean, self.state.residual(self.key, mean), self.real)
            self.messages = [torch.empty_like(message) for _ in range(self.state.hosts)]
            self.work = dist.all_gather(self.messages, message, group=self.state.peers, async_op=True)

    def finish(self) -> None:
        """Completes the mean over the hosts and gathers the parts inside the host."""
        mean = self.mean
        if self.state.hosts > 1:
            self.work.wait()
            mean = sum(decode(message) for message in self.messages) / self.state.hosts
        if self.state.local_size > 1:
            parts = [torch.empty_like(self.sent[: self.part]) for _ in range(self.state.local_size)]
            dist.all_gather(parts, mean.to(torch.float16), group=self.state.local)
            mean = torch.cat(parts)
        self.buffer.copy_(mean[: self.buffer.numel()])
        self.future.set_result(self.buffer)


def two_level_hook(state: TwoLevelState, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    """The future holds the mean over all ranks, the same on each."""
    with state.side_stream(bucket.buffer()):
        exchange = Exchange(state, bucket)
        exchange.reduce()
        if exchange.buffer.is_cuda:  # nothing below waits on the host: the stream does
            exchange.send()
            exchange.finish()
            return exchange.future
        if bucket.index() == 0:
            state.on_the_way = []  # a step that failed left some
        if state.on_the_way:
            state.on_the_way[-1].send()  # what it waits for was under way while backward filled this bucket
        state.on_the_way.append(exchange)
        if bucket.is_last():
            exchange.send()
            for waiting in state.on_the_way:
                waiting.finish()
            state.on_the_way = []
        return exchange.future
