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
    for (const auto& flight : flights_) result_.overlapped_ns += overlap_of(flight);
    return result_;
  }

 private:
  // Stages follow each other, so that those beside an exchange are neighbours.
  double overlap_of(const std::pair<double, double>& flight) const {
    double ns = 0;
    auto stage = std::upper_bound(busy_.begin(), busy_.end(), flight.first,
                                  [](double from, const auto& busy) { return from < busy.second; });
    for (; stage != busy_.end() && stage->first < flight.second; ++stage)
      ns += std::min(flight.second, stage->second) - std::max(flight.first, stage->first);
    return ns;
  }

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

}  // namespace gradsync
