// Graphs of one rank's steps, told to the second half: one for every other step, one for those between, one for all.
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

// One half of its steps, or all of them.
struct GraphPart {
  StepGraph graph;       // of the steps that are alike
  double step_ns = 0;    // typical length of these steps, as observed
  ClassTimes classes{};  // the same of each class
  ClassTimes errors{};   // standard errors of these
  double spread_ns = 0;  // standard error of step_ns
};

// What one rank told.
struct RankGraphs {
  int rank = 0;
  std::int64_t steps = 0, alike = 0;  // observed; of the most frequent shape
  bool on_device = false, framework_syncs = false;
  double sort_ns = 0;
  std::optional<GraphPart> half, other_half, all;
};
std::vector<RankGraphs> read_graphs(const Summary& summary);

// Why what one half of the steps gives does not stand for the other; empty where it does: the step within 5 %, each class
// within 10 % of itself or 2 % of the step, or both within what chance explains (two standard errors of the halves'
// difference, but never more than 10 % of the step: then the steps differ too much).
std::string why_not_alike(const RankGraphs& rank);

}  // namespace gradsync
