#include "collectors/host/pmu_group.h"

#include <unistd.h>

#include <cerrno>

#include "collectors/host/perf_pages.h"

namespace gradsync {
namespace {

perf_event_attr counting(const PmuEvent& event) {
  perf_event_attr attributes{};
  attributes.type = event.type;
  attributes.config = event.config;
  attributes.config1 = event.config1;
  attributes.config2 = event.config2;
  attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  attributes.inherit = 1;  // a read of a whole group cannot be had with it: they are read one by one
  // Software events happen in the kernel: without it a count of switches is always 0.
  attributes.exclude_kernel = event.type == PERF_TYPE_SOFTWARE ? 0 : 1;
  attributes.exclude_hv = attributes.exclude_kernel;
  return attributes;
}

}  // namespace

std::optional<PmuCount> scaled(const PmuReading& before, const PmuReading& after) {
  if (after.enabled <= before.enabled || after.running <= before.running || after.value < before.value)
    return std::nullopt;
  const auto enabled = static_cast<double>(after.enabled - before.enabled);
  const auto running = static_cast<double>(after.running - before.running);
  const PmuCount count{static_cast<double>(after.value - before.value) * enabled / running, 100 * running / enabled};
  return count.running_percent < kLeastRunning ? std::nullopt : std::optional(count);
}

Result<PmuGroup> PmuGroup::open(const std::vector<PmuEvent>& events) {
  PmuGroup group;
  for (const PmuEvent& event : events) {
    perf_event_attr attributes = counting(event);
    const int leader = group.fds_.empty() ? -1 : group.fds_.front().get();
    FileDescriptor fd(open_perf_event(attributes, 0, -1, leader));
    // Groups cannot be larger than the processor's counters: alone it may still take turns.
    if (!fd && errno == EINVAL && leader >= 0) fd = FileDescriptor(open_perf_event(attributes, 0, -1));
    if (!fd) {
      group.refused_.push_back(perf_refusal("cannot count", event.name, errno));
      continue;
    }
    group.events_.push_back(event);
    group.fds_.push_back(std::move(fd));
  }
  if (!group.fds_.empty()) return group;
  return group.refused_.empty() ? Error{"cannot count", "", "no event was named", ""} : group.refused_.front();
}

std::vector<PmuReading> PmuGroup::read() const {
  std::vector<PmuReading> readings;
  for (const FileDescriptor& fd : fds_) {
    std::uint64_t values[3] = {};
    const bool whole = ::read(fd.get(), values, sizeof values) == sizeof values;
    readings.push_back(whole ? PmuReading{values[0], values[1], values[2]} : PmuReading{});
  }
  return readings;
}

Coverage pmu_coverage() {
  Coverage coverage{"hardware counters", "", CoverageState::collected, "", "", 0};
  const Result<PmuGroup> cycles = PmuGroup::open({{"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 0, 0, {}}});
  if (cycles) {
    coverage.reason = PmuEvents().has_library() ? "with the vendors' names by libpfm4"
                                                : "generic, raw and /sys names: libpfm4 is not installed";
    return coverage;
  }
  coverage.state = CoverageState::unavailable;
  coverage.reason = cycles.error().why + "; software clocks instead";
  coverage.hint = cycles.error().hint;
  return coverage;
}

}  // namespace gradsync
