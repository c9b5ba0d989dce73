#include "analyzers/compression_calls.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace gradsync {
namespace {

using Counter = std::int64_t CompressionCalls::*;
constexpr std::array<std::pair<std::string_view, Counter>, 7> kCounted{{
    {"aten::nonzero", &CompressionCalls::nonzero},  // where(condition), x[mask] and masked_select call it, too
    {"aten::quantile", &CompressionCalls::quantile},
    {"aten::nanquantile", &CompressionCalls::quantile},
    {"aten::topk", &CompressionCalls::topk},
    {"aten::sign", &CompressionCalls::signs},
    {"aten::sgn", &CompressionCalls::signs},
    {"aten::sign_", &CompressionCalls::signs},
}};

// Of the framework's Top-K: its own small sort, or one of the library's behind the selection.
bool sorts(std::string_view kernel) {
  for (const std::string_view part : {"bitonicSort", "radixSortKV", "RadixSort", "SegmentedSort", "mergeSort"})
    if (kernel.find(part) != std::string_view::npos) return true;
  return false;
}

class Counted {
 public:
  explicit Counted(const RankTimeline& rank) {
    for (const auto& [name, counter] : kCounted)
      if (const std::optional<NameId> id = rank.strings->find(name)) ids_.emplace_back(*id, counter);
  }
  Counter of(NameId name) const {
    const auto found = std::find_if(ids_.begin(), ids_.end(), [name](const auto& one) { return one.first == name; });
    return found == ids_.end() ? nullptr : found->second;
  }

 private:
  std::vector<std::pair<NameId, Counter>> ids_;
};

struct Inside {
  bool gradients = false, sorted = false;
};

// What its thread issued inside the operator.
Inside look_inside(const RankTimeline& rank, const IssuedWork& work, const Event& call) {
  Inside inside;
  bool selected = false;
  auto at = std::lower_bound(work.list.begin(), work.list.end(), call.start,
                             [](const Work& one, Nanoseconds time) { return one.issued < time; });
  for (; at != work.list.end() && at->issued <= call.end; ++at) {
    if (at->thread && *at->thread != call.lane) continue;
    inside.gradients |= at->doing == Doing::gradient || at->doing == Doing::stepping;
    const std::string_view name = rank.name(*at->event);
    inside.sorted |= selected && sorts(name);
    selected |= name.find("gatherTopK") != std::string_view::npos;
  }
  return inside;
}

}  // namespace

std::map<std::int32_t, CompressionCalls> compression_calls(const RankTimeline& rank, const IssuedWork& work) {
  std::map<std::int32_t, CompressionCalls> steps;
  const Counted counted(rank);
  for (const Event& event : rank.events) {
    if (event.kind != Kind::range || event.on_stream() || event.source != Source::profiler) continue;
    if (!rank.name(event).starts_with("aten::")) continue;
    const std::optional<std::size_t> step = rank.step_at(event.start);
    if (!step) continue;
    CompressionCalls& calls = steps[static_cast<std::int32_t>(*step)];
    const Counter counter = counted.of(event.name);
    if (counter == nullptr) continue;
    const Inside inside = look_inside(rank, work, event);
    if (!inside.gradients) continue;
    ++(calls.*counter);
    if (counter == &CompressionCalls::topk && inside.sorted) ++calls.sorted_topk;
  }
  return steps;
}

}  // namespace gradsync
