#include "analyzers/predict/together.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace gradsync {
namespace {

// In the order in which they are applied: first how the gradient travels, then what is left of the rest.
constexpr std::array<std::string_view, 11> kOrder{
    "no_compression", "fp16_hook",      "parameter_server", "two_level",    "rdma_bound",  "bucket_size",
    "int32_index",    "histogram_topk", "unsorted_topk",    "no_host_sync", "no_straggler"};

std::size_t place_of(const std::string& remedy) {
  return static_cast<std::size_t>(std::find(kOrder.begin(), kOrder.end(), remedy) - kOrder.begin());
}

enum class Subject { travel, compression, selection, other };
Subject subject_of(const std::string& remedy) {
  const std::size_t place = place_of(remedy);
  if (place <= place_of("rdma_bound")) return Subject::travel;
  if (remedy == "int32_index") return Subject::compression;
  if (remedy == "histogram_topk" || remedy == "unsorted_topk") return Subject::selection;
  return Subject::other;
}

// One behind the other; nothing where one does not apply to what the ones before have made.
std::optional<StepGraph> apply_all(const std::vector<Remedy>& parts, const StepGraph& graph, const Draw& draw) {
  std::optional<StepGraph> edited = graph;
  for (const Remedy& part : parts)
    if (edited) edited = part.apply(*edited, draw);
  return edited;
}

// Over the ranks that have an answer; nothing where none has.
std::optional<double> mean_step_ns(const std::vector<Remedy>& parts, const std::vector<StepGraph>& ranks) {
  double sum = 0;
  std::size_t count = 0;
  for (const StepGraph& graph : ranks) {
    const std::optional<StepGraph> edited = apply_all(parts, graph, Draw{});
    if (!edited) continue;
    sum += replay(*edited).step_ns / replay(graph).step_ns;
    ++count;
  }
  return count > 0 ? std::optional(sum / static_cast<double>(count)) : std::nullopt;
}

}  // namespace

bool conflict(const std::string& a, const std::string& b) {
  const Subject one = subject_of(a), two = subject_of(b);
  if (one == Subject::other || two == Subject::other) return false;
  return one == two || one == Subject::travel || two == Subject::travel;
}

std::optional<Remedy> together(const std::vector<Remedy>& best_first, const std::vector<StepGraph>& ranks) {
  std::vector<Remedy> parts;
  double least = 1;  // of today's step
  for (const Remedy& remedy : best_first) {
    const auto conflicts = [&](const Remedy& part) { return conflict(part.name, remedy.name); };
    if (!remedy.apply || std::any_of(parts.begin(), parts.end(), conflicts)) continue;
    std::vector<Remedy> more = parts;
    more.insert(std::find_if(more.begin(), more.end(),
                             [&](const Remedy& part) { return place_of(part.name) > place_of(remedy.name); }),
                remedy);
    const std::optional<double> share = mean_step_ns(more, ranks);
    if (!share || *share >= least) continue;
    least = *share;
    parts = std::move(more);
  }
  if (parts.size() < 2) return std::nullopt;
  Remedy all{"", Judgement::predicted, "", "", {}, {}};
  for (const Remedy& part : parts) {
    all.name += (all.name.empty() ? "" : " + ") + part.name;
    all.needs += (all.needs.empty() ? "" : "; ") + part.needs;
  }
  all.apply = [parts](const StepGraph& graph, const Draw& draw) { return apply_all(parts, graph, draw); };
  all.cap = [parts](const StepGraph& graph, const Replayed& today) {
    double ns = 0;
    for (const Remedy& part : parts) ns += part.cap(graph, today);
    return ns;
  };
  return all;
}

}  // namespace gradsync
