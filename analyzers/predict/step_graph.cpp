#include "analyzers/predict/step_graph.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace gradsync {
namespace {

double sum(const ClassTimes& times) { return std::accumulate(times.begin(), times.end(), 0.0); }

class Replay {
 public:
  explicit Replay(const StepGraph& graph) : graph_(graph), ends_(graph.exchanges.size(), 0) {}

  Replayed run() {
    for (const Stage& stage : graph_.stages) {
      const double length = sum(stage.ns);
      if (length > 0) busy_.push_back({clock_, clock_ + length});
      for (std::size_t i = 0; i < kStepClasses; ++i) result_.classes[i] += stage.ns[i];
      clock_ += length;
      if (stage.anchor.kind == AnchorKind::issue) issue(static_cast<std::size_t>(stage.anchor.index));
      if (stage.anchor.kind == AnchorKind::join) join(static_cast<std::size_t>(stage.anchor.index));
    }
    result_.step_ns = clock_;
    result_.classes[static_cast<std::size_t>(StepClass::comm)] += result_.blocked_ns;
    for (const auto& [from, to] : flights_)
      for (const auto& [begin, end] : busy_)
        result_.overlapped_ns += std::max(0.0, std::min(to, end) - std::max(from, begin));
    return result_;
  }

 private:
  void issue(std::size_t index) {
    const Exchange& exchange = graph_.exchanges[index];
    double& free = free_[exchange.group];
    const double begin = std::max(clock_ + exchange.wait_ns, free);
    free = begin + exchange.transfer_ns;
    decoded_ = exchange.decode_ns > 0 ? std::max(free, decoded_) + exchange.decode_ns : decoded_;
    latest_ = std::max({latest_, free, decoded_});
    ends_[index] = latest_;
    if (exchange.transfer_ns > 0) flights_.emplace_back(begin, free);
  }

  void join(std::size_t index) {
    if (index >= ends_.size()) return;
    const double until = ends_[index];
    if (until <= clock_) return;
    result_.blocked_ns += until - clock_;
    clock_ = until;
  }

  const StepGraph& graph_;
  std::vector<double> ends_;  // of all that were issued up to it
  std::map<std::string, double> free_;
  std::vector<std::pair<double, double>> busy_, flights_;
  double clock_ = 0, latest_ = 0, decoded_ = 0;
  Replayed result_;
};

}  // namespace

double StepGraph::total(StepClass what) const {
  double ns = 0;
  for (const Stage& stage : stages) ns += stage.ns[static_cast<std::size_t>(what)];
  return ns;
}

double StepGraph::total_of(bool compressed) const {
  double ns = 0;
  for (const Exchange& exchange : exchanges)
    if (exchange.compressed == compressed) ns += exchange.transfer_ns;
  return ns;
}

Replayed replay(const StepGraph& graph) { return Replay(graph).run(); }

bool same_shape(const StepGraph& a, const StepGraph& b) {
  if (a.stages.size() != b.stages.size() || a.exchanges.size() != b.exchanges.size()) return false;
  for (std::size_t i = 0; i < a.stages.size(); ++i)
    if (a.stages[i].anchor.kind != b.stages[i].anchor.kind || a.stages[i].anchor.index != b.stages[i].anchor.index)
      return false;
  for (std::size_t i = 0; i < a.exchanges.size(); ++i)
    if (a.exchanges[i].operation != b.exchanges[i].operation) return false;
  return true;
}

StepGraph typical(const std::vector<const StepGraph*>& graphs) {
  std::vector<std::pair<double, const StepGraph*>> by_length;
  for (const StepGraph* graph : graphs) by_length.emplace_back(replay(*graph).step_ns, graph);
  std::stable_sort(by_length.begin(), by_length.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  const std::size_t cut = by_length.size() / 4;
  StepGraph mean = *by_length[cut].second;
  const auto count = static_cast<double>(by_length.size() - 2 * cut);
  for (std::size_t i = cut + 1; i + cut < by_length.size(); ++i) {
    const StepGraph& other = *by_length[i].second;
    for (std::size_t s = 0; s < mean.stages.size(); ++s)
      for (std::size_t c = 0; c < kStepClasses; ++c) mean.stages[s].ns[c] += other.stages[s].ns[c];
    for (std::size_t e = 0; e < mean.exchanges.size(); ++e) {
      mean.exchanges[e].wait_ns += other.exchanges[e].wait_ns;
      mean.exchanges[e].transfer_ns += other.exchanges[e].transfer_ns;
      mean.exchanges[e].bytes += other.exchanges[e].bytes;
    }
  }
  for (Stage& stage : mean.stages)
    for (double& ns : stage.ns) ns /= count;
  for (Exchange& exchange : mean.exchanges) {
    exchange.wait_ns /= count;
    exchange.transfer_ns /= count;
    exchange.bytes = static_cast<std::int64_t>(static_cast<double>(exchange.bytes) / count);
  }
  return mean;
}

}  // namespace gradsync
