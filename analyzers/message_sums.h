// The collectives of one rank's counted steps, summed by communicator, operation and size, and how its gradients
// travelled. The framework's own all-reduces are issued in C++: in steps where none of them is among the events (older
// versions show none, and a collector on a budget stops looking) their sizes come from the framework's bucket list and
// are marked as extrapolated.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <tuple>

#include "analyzers/step_activity.h"
#include "src/model/analyzer.h"

namespace gradsync {

// rank, group, op, bytes, compressed, framework, count, ns, exposed ns
inline constexpr std::string_view kMessageTable = "message_sums";
// One row per rank; columns in message_sums.cpp.
inline constexpr std::string_view kPathTable = "gradient_paths";

// Several ranks that do not wait for DistributedDataParallel, and no step of which shows an exchange: they agree somehow
// that nothing here can watch. What that costs is not known, which is not zero. `facts`: joined over the ranks.
bool exchange_unseen(const Summary& all, const Facts& facts);

struct MessageSum {
  std::int64_t count = 0, ns = 0, exposed_ns = 0;
};

class MessageSums {
 public:
  MessageSums(const RankTimeline& rank, const GradientPath& path) : rank_(rank), path_(path) {}
  // `compute`: useful compute of the step, whatever else went on.
  void add(const StepSpan& step, const StepActivity& seen, const IntervalSet& compute);
  void write(Summary& summary) const;

 private:
  using Key =
      std::tuple<std::string, std::string, std::int64_t, bool, bool>;  // group, op, bytes, compressed, framework

  void add_framework(const StepSpan& step, std::int64_t seen);
  bool synchronises(const StepSpan& step) const;
  void add_compress_sites(const StepSpan& step);
  std::string group_of(const Event& event) const;

  const RankTimeline& rank_;
  const GradientPath& path_;
  std::map<Key, MessageSum> messages_;
  std::map<std::string_view, Nanoseconds> compress_sites_, sync_sites_;
  std::int64_t steps_ = 0, dense_bytes_ = 0, wire_bytes_ = 0, index_all_reduces_ = 0, compressed_ = 0,
               wide_index_bytes_ = 0;  // of 64 bits each
};

}  // namespace gradsync
