// Text events in, conclusions out: every analyzer in the program's order.
#pragma once

#include <string>
#include <vector>

#include "src/model/analyzer.h"
#include "src/timeline/rank_timeline.h"

namespace gradsync::test {

std::vector<RankTimeline> timelines(const std::string& text);
Conclusions analyze(const std::string& text, const Inputs& inputs = {});
Conclusions analyze(const std::vector<RankTimeline>& ranks, const Inputs& inputs);

// The text of `steps` equal steps of one rank, from a body whose times are relative to the step's start:
//   "{0}" stands for the step's number, "@12" for 12 µs after the step's start.
std::string repeat_step(int steps, int step_us, const std::string& body);

std::vector<std::unique_ptr<Analyzer>> analyzers_in_order();

}  // namespace gradsync::test
