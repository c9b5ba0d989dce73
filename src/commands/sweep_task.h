// What `sweep` is asked to measure, from words to values. Pure but for a look at the interfaces and the memory here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collectors/fabric/backend.h"
#include "src/base/result.h"
#include "src/model/report.h"

namespace gradsync {

struct SweepWords {
  std::string backend = "auto", smallest = "1K", largest = "64M";
  std::string type;  // empty: floats, and of all_reduce some halves
  std::vector<std::string> operations{"all_reduce"}, sizes;
  std::string interface_name, timeout = "60s", max_time = "40s";
  int ranks = 0;  // 0: a launcher says
  int repeats = 10;
  std::uint64_t seed = 1;
};

struct SweepTask {
  std::vector<FabricOperation> operations;
  ElementType type = ElementType::float32;
  std::vector<std::int64_t> sizes;  // bytes, ascending, each once
  // Those of sizes at which all_reduce is measured as halves, too, which a CPU adds slower than floats. May be empty.
  std::vector<std::int64_t> half_sizes;
  int repeats = 10;  // of each size, before more are asked for where the answer is not clear
  std::int64_t timeout_ms = 60'000, max_ms = 40'000;
  std::uint64_t seed = 1;
  std::string load;  // what runs beside a second sweep, made together with the idle one; empty: there is none
};

// Every second size from 16 KiB up to a sixteenth of all bytes together, ascending; none where they are too few for a
// line. Smaller vectors tell the start-up, which is that of floats.
std::vector<std::int64_t> sizes_for_halves(const std::vector<std::int64_t>& sizes);

// Errors carry the option, its word, what is wrong with it and what would do; their status is that of wrong usage.
Result<SweepTask> sweep_task(const SweepWords& words);

// Sizes of a job's own messages, those that take the most time first: at most 16, of 1 byte to 1 GiB. Error: a report
// without messages.
Result<std::vector<std::int64_t>> message_sizes(const Report& job, const std::string& origin);

}  // namespace gradsync
