// Records of NCCL Inspector, NVIDIA's profiler plug-in: one JSON object a collective and rank.
//
//   {"header": {"id": …, "rank": 0, "n_ranks": 8, "nnodes": 1}, "metadata": {"hostname": …},
//    "coll_perf": {"coll": "AllReduce", "coll_msg_size_bytes": …, "coll_exec_time_us": …, "coll_busbw_gbs": …}}
//
// They are measured inside a job: a time holds the wait for the last rank, so they go to the series
// inspector.<operation>, not to sweep.<operation>, from which a fabric is judged.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <tuple>

#include "collectors/import/format.h"

namespace gradsync {

class InspectorRecords {
 public:
  InspectorRecords();
  ~InspectorRecords();
  InspectorRecords(const InspectorRecords&) = delete;
  InspectorRecords& operator=(const InspectorRecords&) = delete;

  // Whole objects at the beginning of `text`; the bytes of it that are used up. When no more comes, the rest is broken.
  enum class More { may_come, none };
  std::size_t add(std::string_view text, More more);

  std::int64_t records() const { return records_; }
  std::int64_t broken() const { return broken_; }
  std::int64_t dropped() const { return dropped_; }
  void report(const std::string& source, SeriesSet& series, Facts& facts) const;

 private:
  struct Parser;
  struct Key {
    std::string operation;
    std::int64_t bytes = 0, ranks = 0;
    bool operator<(const Key& other) const {
      return std::tie(operation, bytes, ranks) < std::tie(other.operation, other.bytes, other.ranks);
    }
  };
  // Times are whole microseconds: a count for each value keeps all of them in little memory.
  struct Times {
    std::map<std::int64_t, std::int64_t> us;
    std::int64_t n = 0, bandwidths = 0;
    double algbw = 0, busbw = 0;  // sums
  };
  void record(std::string_view text);

  std::unique_ptr<Parser> parser_;
  std::map<Key, Times> times_;
  bool lost_the_way_ = false;  // what is broken is counted once until the next good record
  std::set<std::string> hosts_, sources_;
  std::int64_t records_ = 0, broken_ = 0, dropped_ = 0, distinct_ = 0, nodes_ = 0, ranks_ = 0;
};

bool is_nccl_inspector(std::string_view head);
Result<Imported> import_nccl_inspector(const ImportRequest& request, EventSink& sink);

}  // namespace gradsync
