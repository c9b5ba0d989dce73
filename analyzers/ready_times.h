// When a rank had nothing left to compute before it must wait for the others, per counted step: the table `ready`.
#pragma once

#include <string_view>

#include "analyzers/step_activity.h"
#include "src/model/analyzer.h"

namespace gradsync {

inline constexpr std::string_view kReadyTable = "ready";  // rank, step, time_ns

class ReadyTimes {
 public:
  ReadyTimes(const RankTimeline& rank, const GradientPath& path, Summary& summary);
  void add(const StepSpan& step, const StepActivity& seen);

 private:
  Nanoseconds ready_time(const StepActivity& seen) const;

  const RankTimeline& rank_;
  const GradientPath& path_;
  Series& table_;
  bool gpu_;
};

}  // namespace gradsync
