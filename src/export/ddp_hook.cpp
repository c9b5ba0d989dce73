#include "src/export/ddp_hook.h"

#include <fmt/format.h>

#include "src/model/series_table.h"

namespace gradsync {
namespace {

constexpr const char* kHead =
    R"py("""A communication hook for DistributedDataParallel: which bucket to send how, as gradsync-doctor predicted it.

    model = DistributedDataParallel(model{CAP})
    import {MODULE}; {MODULE}.register(model)

Every rank must use the same file. It holds for the fabric and the model it was made for; see PLAN.
"""
from typing import Dict, Optional, Tuple

import torch
import torch.distributed as dist

# Bytes of a bucket at full precision, method, and the share of its entries that a Top-K sends. In launch order.
PLAN = [
)py";

constexpr const char* kBody = R"py(]


class PlanState:
    """What a Top-K left unsent, by bucket. DDP builds its buckets anew after the first step: then it begins again."""

    def __init__(self, process_group: Optional[dist.ProcessGroup] = None) -> None:
        self.process_group = process_group if process_group is not None else dist.group.WORLD
        self.residuals: Dict[int, torch.Tensor] = {}

    def residual(self, index: int, like: torch.Tensor) -> torch.Tensor:
        kept = self.residuals.get(index)
        return kept if kept is not None and kept.shape == like.shape else torch.zeros_like(like)


def planned(bucket: dist.GradBucket) -> Tuple[str, float]:
    """The method of this bucket; of a bucket that the plan does not know, that of the one nearest in size."""
    size = bucket.buffer().numel() * bucket.buffer().element_size()
    index = bucket.index()
    if index < len(PLAN) and PLAN[index][0] == size:
        return PLAN[index][1:]
    return min(PLAN, key=lambda row: abs(row[0] - size))[1:]


def send_dense(state: PlanState, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    tensor = bucket.buffer().div_(state.process_group.size())
    future = dist.all_reduce(tensor, group=state.process_group, async_op=True).get_future()
    return future.then(lambda done: done.value()[0])


def send_half(state: PlanState, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    buffer = bucket.buffer()
    half = buffer.to(torch.float16).div_(state.process_group.size())  # divided first: the sum must not overflow
    future = dist.all_reduce(half, group=state.process_group, async_op=True).get_future()
    return future.then(lambda done: buffer.copy_(done.value()[0]))


def send_topk(state: PlanState, bucket: dist.GradBucket, share: float) -> torch.futures.Future[torch.Tensor]:
    buffer, group = bucket.buffer(), state.process_group
    gradient = buffer + state.residual(bucket.index(), buffer)
    count = max(1, int(share * gradient.numel()))
    indices = torch.topk(gradient.abs(), count, sorted=False).indices
    values = gradient[indices]
    gradient[indices] = 0.0
    state.residuals[bucket.index()] = gradient
    narrow = indices.to(torch.int32)
    all_indices = [torch.empty_like(narrow) for _ in range(group.size())]
    all_values = [torch.empty_like(values) for _ in range(group.size())]
    sent = [dist.all_gather(all_indices, narrow, group=group, async_op=True).get_future(),
            dist.all_gather(all_values, values, group=group, async_op=True).get_future()]

    def decode(_: torch.futures.Future) -> torch.Tensor:
        buffer.zero_()
        for rank_indices, rank_values in zip(all_indices, all_values):
            buffer.scatter_add_(0, rank_indices.to(torch.int64), rank_values / group.size())
        return buffer

    return torch.futures.collect_all(sent).then(decode)


def planned_hook(state: PlanState, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    method, share = planned(bucket)
    if method == "topk":
        return send_topk(state, bucket, share)
    return send_half(state, bucket) if method == "fp16" else send_dense(state, bucket)


def register(model: torch.nn.parallel.DistributedDataParallel,
             process_group: Optional[dist.ProcessGroup] = None) -> PlanState:
    """Puts the hook into a model that has none yet."""
    state = PlanState(process_group)
    model.register_comm_hook(state, planned_hook)
    return state
)py";

std::string with(std::string text, const std::string& name, const std::string& value) {
  for (std::size_t at = 0; (at = text.find(name, at)) != std::string::npos; at += value.size())
    text.replace(at, name.size(), value);
  return text;
}

}  // namespace

Result<std::string> ddp_hook_file(const Report& report) {
  const auto plan = report.series.find("bucket_plan");
  if (plan == report.series.end() || plan->second.rows.empty())
    return Error{"cannot write a hook", "",
                 "the report holds no plan: it needs the buckets of a DDP job, a fabric that was "
                 "measured for them, and steps that predict each other",
                 "gradsync-doctor sweep --ranks N --max 64M, then whatif RECORDING"};
  std::string rows;
  const SeriesTable table(plan->second);
  for (const auto& row : table.rows()) {
    const std::string method = table.text(row, "method");
    rows += fmt::format("    ({:.0f}, \"{}\", {:.6g}),\n", table.number(row, "bytes").value_or(0),
                        method == "fp16" || method == "topk" ? method : "dense",
                        table.number(row, "density_percent").value_or(100) / 100);
  }
  const auto cap = report.facts.find("ddp.bucket_cap_mb");
  const bool numeric = cap != report.facts.end() && !cap->second.empty() &&
                       cap->second.find_first_not_of("0123456789.") == std::string::npos;
  return with(with(kHead, "{CAP}", numeric ? ", bucket_cap_mb=" + cap->second : ""), "{MODULE}", "plan") + rows + kBody;
}

}  // namespace gradsync
