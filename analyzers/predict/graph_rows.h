// Graphs of one rank's steps, told to the second half: what those of one half of them make of a step, and those of the other;
// and the graphs of some steps themselves. A mean of graphs would not do: a step is the longest way through its graph, and
// the longest way through a mean is shorter than the mean of the longest ways.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "analyzers/predict/step_graph.h"
#include "analyzers/step_activity.h"
#include "src/model/analyzer.h"

namespace gradsync {

class GraphRows {
 public:
  GraphRows(const RankTimeline& rank, const GradientPath& path) : rank_(rank), path_(path) {}
  void take(const StepSpan& step, const StepActivity& seen, const Activity& claimed);
  void write(Summary& summary) const;

 private:
  double sorting_ns(const StepSpan& step);

  struct Seen;
  struct Drift {
    double first_ns = 0, second_ns = 0, p = 1;
  };
  static Drift drift_of(const std::vector<const Seen*>& in_order);
  static Drift trim(std::vector<const Seen*>& in_order);
  void write_part(std::int64_t part, const std::vector<const Seen*>& by_length, std::size_t counted, std::size_t alike,
                  const Drift& drift, Summary& summary) const;
  void write_graph(std::int64_t sample, const StepGraph& graph, Summary& summary) const;

  struct Seen {
    StepGraph graph;
    double step_ns = 0, sort_ns = 0;
    ClassTimes classes{};
    bool on_device = false, deep = false;
  };
  const RankTimeline& rank_;
  const GradientPath& path_;
  std::vector<Seen> steps_;
  std::map<NameId, bool> sorts_;
};

// One half of its steps, or all of them: means over the steps whose length lies in the middle half.
struct GraphPart {
  double step_ns = 0;    // length, as observed
  ClassTimes classes{};  // the same of each class
  ClassTimes errors{};   // standard errors of these
  double spread_ns = 0;  // standard error of step_ns
  double built_ns = 0;   // length of the replayed graphs
  ClassTimes built{};    // the same of each class
};

// What one rank told.
struct RankGraphs {
  int rank = 0;
  std::int64_t steps = 0, alike = 0;  // observed; of the most frequent shape
  bool on_device = false, framework_syncs = false;
  double sort_ns = 0;
  std::optional<GraphPart> half, other_half, all;
  double first_ns = 0, second_ns = 0, drift_p = 1;  // medians of the run's two halves; of a rank test, two-sided
  std::vector<StepGraph> graphs;                    // of at most 12 steps, spread over the middle half by length
};
std::vector<RankGraphs> read_graphs(const Summary& summary);

// Why what one half of the steps of one of `ranks` ranks gives does not stand for the other; empty where it does: no drift
// of more than 10 % that a rank test is sure of (p < 0.01), nor in the later half of the steps; the step within 5 %, each class within 10 % of itself or 2 % of
// the step, or both within what chance explains (the standard errors of the halves' difference that the largest of all
// comparisons, each class of each rank, exceeds in one of twenty jobs), but never more than 10 % of the step.
std::string why_not_alike(const RankGraphs& rank, std::size_t ranks);

}  // namespace gradsync
