// What each remedy makes of a step: transforms of its graph. Pure.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzers/gradient_path.h"
#include "analyzers/predict/step_graph.h"
#include "src/model/inputs.h"

namespace gradsync {

// What is known of the job.
struct Job {
  std::string compression = "none", place = "none";  // facts compression, compression.place
  bool compresses = false, framework_syncs = false, on_device = false;
  int ranks = 1, hosts = 1;
  double elements = 0;                        // of the gradient
  double compress_ns = 0, decompress_ns = 0;  // on a device, where kernels of compression count as compute
  double sort_ns = 0;                         // kernels that sort what a Top-K selected
  double link_bytes_per_us = 0;               // of one host's network; 0: not known
  std::optional<double> late_ns;              // of the rank that arrives last, after the median of the others
};

// One draw of what is not known exactly.
struct Draw {
  double level = 0.5;     // of times of reference loads, 0 (p10) to 1 (p90)
  double transfer = 1;    // on the price of a collective
  double contention = 1;  // the same, of a fabric that the job's computing disturbs
  double removed = 1;     // on time that is taken away
  double gamma = 1;       // slowdown of computing under communication
  double hop_us = 2;      // of RDMA
};

// A remedy on one rank's graph under one draw; nothing where an input is missing.
using Transform = std::function<std::optional<StepGraph>(const StepGraph&, const Draw&)>;

enum class Judgement { predicted, bound, unknown, not_applicable };

struct Remedy {
  std::string name;
  Judgement judgement = Judgement::unknown;
  std::string needs;  // what it takes, in words; unknown: what is missing
  std::string hint;   // unknown: what would tell
  Transform apply;
  // The most that it can save on a step, from what the step shows today.
  std::function<double(const StepGraph&, const Replayed&)> cap;
};

// All that product knows, applicable ones first judged by what is there. Without a fabric or loads only what needs none
// is predicted; a remedy whose transform lacks an input is a bound or unknown.
std::vector<Remedy> remedies(const Job& job, const std::vector<StepGraph>& ranks, const std::optional<FabricFit>& fit,
                             const std::vector<LoadProfile>& loads);

}  // namespace gradsync
