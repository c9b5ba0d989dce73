// Analyzer: one question about the run, in two halves.
//   summarise  reads one rank's timeline; its result is small, serialisable, and merges in any order.
//   conclude   reads the merged summaries of all ranks and adds metrics, series and attribution.
// analyzers.cpp lists them in order: a later one may read the metrics of an earlier one.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "src/model/inputs.h"
#include "src/model/metric.h"
#include "src/model/report.h"
#include "src/model/series.h"

namespace gradsync {

class RankTimeline;

// Tables by name; the first column of each is the rank. Merging appends rows; canonicalise sorts them,
// so the merge is associative and commutative.
struct Summary {
  SeriesSet tables;

  // The table `name`, created with `columns` when it is not there yet.
  Series& table(std::string_view name, const std::vector<std::string>& columns);
  const Series* find(std::string_view name) const;
  void merge(Summary other);
  void canonicalise();
  bool operator==(const Summary&) const = default;
};

struct Conclusions {
  MetricSet metrics;
  SeriesSet series;
  std::vector<Attribution> attribution;
  Facts facts;                     // found by analysis (compression, worst call site); shown in the report
  std::vector<Coverage> coverage;  // found by analysis (a rank that ended early)
};

class Analyzer {
 public:
  virtual ~Analyzer() = default;
  virtual std::string_view name() const = 0;
  virtual void summarise(const RankTimeline& rank, const Inputs& inputs, Summary& summary) const = 0;
  virtual void conclude(const Summary& all_ranks, const Inputs& inputs, Conclusions& conclusions) const = 0;
};

}  // namespace gradsync
