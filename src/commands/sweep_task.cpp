#include "src/commands/sweep_task.h"

#include <net/if.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "src/base/available_memory.h"
#include "src/base/text.h"
#include "src/base/units.h"
#include "src/commands/exit_status.h"

namespace gradsync {
namespace {

constexpr std::int64_t kMillion = 1'000'000;
constexpr const char* kOperations = "all_reduce all_gather reduce_scatter all_to_all broadcast send_recv, or all";
constexpr std::size_t kMostSizes = 512;

Error wrong(std::string option, std::string word, std::string why, std::string hint) {
  return {std::move(option), std::move(word), std::move(why), std::move(hint), exit_status::kUsage};
}

Error of_option(Error error, const std::string& option) {
  error.what = option + ": " + error.what;
  error.exit_status = exit_status::kUsage;
  return error;
}

Result<std::vector<FabricOperation>> operations_of(const std::vector<std::string>& words) {
  std::vector<FabricOperation> operations;
  const auto add = [&](FabricOperation operation) {
    if (std::find(operations.begin(), operations.end(), operation) == operations.end()) operations.push_back(operation);
  };
  for (std::string word : words) {
    std::replace(word.begin(), word.end(), '-', '_');
    if (word == "all") {
      for (const auto operation :
           {FabricOperation::all_reduce, FabricOperation::all_gather, FabricOperation::reduce_scatter,
            FabricOperation::all_to_all, FabricOperation::broadcast, FabricOperation::send_recv})
        add(operation);
      continue;
    }
    const auto operation = fabric_operation(word);
    if (!operation) return wrong("--op", escape_controls(word), "not an operation that is swept", kOperations);
    add(*operation);
  }
  return operations;
}

Result<std::int64_t> bytes_of(const std::string& option, const std::string& word) {
  const Result<std::int64_t> bytes = parse_bytes(word);
  if (!bytes) return of_option(bytes.error(), option);
  if (*bytes < 1) return wrong(option, escape_controls(word), "a message has at least one byte", option + " 1K");
  return *bytes;
}

Result<std::vector<std::int64_t>> sizes_of(const SweepWords& words) {
  const Result<std::int64_t> smallest = bytes_of("--min", words.smallest), largest = bytes_of("--max", words.largest);
  if (!smallest) return smallest.error();
  if (!largest) return largest.error();
  if (*smallest > *largest)
    return wrong("--min", words.smallest, "larger than --max " + words.largest, "--min 1K --max 64M");
  std::vector<std::int64_t> sizes;
  for (std::int64_t size = *smallest; size <= *largest; size *= 2) {
    sizes.push_back(size);
    if (size > *largest / 2) break;  // doubling it could overflow
  }
  for (const std::string& word : words.sizes) {
    const Result<std::int64_t> size = bytes_of("--sizes", word);
    if (!size) return size.error();
    sizes.push_back(*size);
  }
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  if (sizes.size() > kMostSizes)
    return wrong("--sizes", std::to_string(sizes.size()) + " sizes", "too many for one sweep",
                 "at most " + std::to_string(kMostSizes));
  return sizes;
}

Result<std::int64_t> milliseconds_of(const std::string& option, const std::string& word) {
  const Result<std::int64_t> duration = parse_duration_ns(word);
  if (!duration) return of_option(duration.error(), option);
  if (*duration < kMillion) return wrong(option, escape_controls(word), "shorter than a millisecond", option + " 30s");
  return *duration / kMillion;
}

std::string interfaces_here() {
  std::vector<std::string> names;
  struct if_nameindex* all = ::if_nameindex();
  for (const struct if_nameindex* one = all; one != nullptr && one->if_index != 0; ++one)
    names.emplace_back(one->if_name);
  if (all != nullptr) ::if_freenameindex(all);
  return join(names, ", ");
}

// A rank sends from one buffer and receives into another; what is checked has a third.
Result<void> fits_memory(const std::vector<std::int64_t>& sizes, int ranks) {
  constexpr double kBuffers = 3;
  const double needed = kBuffers * static_cast<double>(sizes.back()) * std::max(ranks, 1);
  const std::optional<double> there = available_memory();
  if (!there || needed < *there) return {};
  return wrong("--max", format_bytes(static_cast<double>(sizes.back())),
               "its buffers need " + format_bytes(needed) + " here, " + format_bytes(*there) + " are free",
               "a smaller --max");
}

bool has_all_reduce(const SweepTask& task) {
  return std::find(task.operations.begin(), task.operations.end(), FabricOperation::all_reduce) !=
         task.operations.end();
}

}  // namespace

std::vector<std::int64_t> sizes_for_halves(const std::vector<std::int64_t>& sizes) {
  constexpr double kShare = 1.0 / 16;
  constexpr std::size_t kFewest = 3;
  constexpr std::int64_t kSmallest = 16 << 10;  // of a shorter one the CPU has learned how each addition branches
  double all = 0, sum = 0;
  for (const std::int64_t bytes : sizes) all += static_cast<double>(bytes);
  std::size_t first_left_out = 0;
  while (first_left_out < sizes.size() && (sum += static_cast<double>(sizes[first_left_out])) <= kShare * all)
    ++first_left_out;
  std::vector<std::int64_t> chosen;
  for (std::size_t i = first_left_out; i > 0; i -= std::min<std::size_t>(i, 2))
    if (sizes[i - 1] >= kSmallest) chosen.push_back(sizes[i - 1]);
  if (chosen.size() < kFewest) return {};
  std::reverse(chosen.begin(), chosen.end());
  return chosen;
}

Result<SweepTask> sweep_task(const SweepWords& words) {
  SweepTask task;
  const Result<std::vector<FabricOperation>> operations = operations_of(words.operations);
  if (!operations) return operations.error();
  task.operations = *operations;
  const auto type = words.type.empty() ? ElementType::float32 : element_type(words.type);
  if (!type) return wrong("--type", escape_controls(words.type), "not a type that is swept", "float, half or int8");
  task.type = *type;
  const Result<std::vector<std::int64_t>> sizes = sizes_of(words);
  if (!sizes) return sizes.error();
  task.sizes = *sizes;
  if (words.type.empty() && has_all_reduce(task)) task.half_sizes = sizes_for_halves(task.sizes);
  if (words.ranks == 1)
    return wrong("--ranks", "1", "with one rank nothing travels: what it measures is a copy in memory", "--ranks 2");
  if (words.ranks < 0) return wrong("--ranks", std::to_string(words.ranks), "not a number of ranks", "--ranks 2");
  if (words.repeats < 1)
    return wrong("--repeat", std::to_string(words.repeats), "not a number of repeats", "--repeat 10");
  task.repeats = words.repeats;
  const Result<std::int64_t> timeout = milliseconds_of("--timeout", words.timeout);
  if (!timeout) return timeout.error();
  task.timeout_ms = *timeout;
  const Result<std::int64_t> max = milliseconds_of("--max-time", words.max_time);
  if (!max) return max.error();
  task.max_ms = *max;
  task.seed = words.seed;
  if (!words.interface_name.empty() && ::if_nametoindex(words.interface_name.c_str()) == 0)
    return wrong("--interface", escape_controls(words.interface_name), "there is none of this name here",
                 interfaces_here());
  if (const Result<void> fits = fits_memory(task.sizes, words.ranks); !fits) return fits.error();
  return task;
}

Result<std::vector<std::int64_t>> message_sizes(const Report& job, const std::string& origin) {
  constexpr std::size_t kMost = 16;
  constexpr std::int64_t kLargest = std::int64_t{1} << 30;
  const auto messages = job.series.find("messages");
  const Error none{"--overlay: no messages in", origin, "its job's collectives were not seen, or carry no size",
                   "the report (--json) of gradsync-doctor run or analyze", exit_status::kNothingUsable};
  if (messages == job.series.end()) return none;
  const auto index = [&](const char* name) {
    const auto& columns = messages->second.columns;
    return static_cast<std::size_t>(std::find(columns.begin(), columns.end(), name) - columns.begin());
  };
  const std::size_t bytes_column = index("bytes"), time_column = index("total_ms");
  std::map<std::int64_t, double> time_of;
  for (const auto& row : messages->second.rows) {
    const auto* bytes = bytes_column < row.size() ? std::get_if<std::int64_t>(&row[bytes_column]) : nullptr;
    const auto* time = time_column < row.size() ? std::get_if<double>(&row[time_column]) : nullptr;
    if (bytes != nullptr && *bytes > 0 && *bytes <= kLargest)
      time_of[*bytes] += time != nullptr && std::isfinite(*time) ? *time : 0;
  }
  if (time_of.empty()) return none;
  std::vector<std::pair<std::int64_t, double>> order(time_of.begin(), time_of.end());
  std::stable_sort(order.begin(), order.end(), [](auto& a, auto& b) { return a.second > b.second; });
  if (order.size() > kMost) order.resize(kMost);
  std::vector<std::int64_t> sizes;
  for (const auto& [bytes, time] : order) sizes.push_back(bytes);
  return sizes;
}

}  // namespace gradsync
