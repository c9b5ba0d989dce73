#include "src/commands/sched_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "collectors/host/sched_parts.h"
#include "src/base/text.h"
#include "src/base/units.h"
#include "src/hosttext/numbers.h"

namespace gradsync {
namespace {

constexpr std::size_t kName = 22;

std::string ms(double us) { return std::isnan(us) ? "-" : fmt::format("{:.3f}", us * 1e-3); }

std::string moment(Nanoseconds at, Nanoseconds began) {
  return at == 0 ? "-" : fmt::format("{:.3f}", static_cast<double>(at - began) * 1e-9);
}

// Whether its latencies may be told.
bool wakes(const ThreadSeen& thread) {
  return thread.wait.count > 0 && wakeups_seen_percent({thread.wait}) >= kLeastCoverage;
}

struct Column {
  const char *group, *title;
  std::size_t width;
  WaitsKnown least;  // left out where less is known
  std::string (*cell)(const ThreadSeen& thread, Nanoseconds began);
};

std::string run_of(const ThreadSeen& t, Nanoseconds) { return ms(t.wait.run_us); }
std::string wait_of(const ThreadSeen& t, Nanoseconds) { return ms(t.wait.wait_us); }
std::string wakeups_of(const ThreadSeen& t, Nanoseconds) {
  return std::isnan(t.wait.unseen) ? "-" : std::to_string(t.wait.count);
}
template <double ThreadWait::*Value>
std::string delay_of(const ThreadSeen& t, Nanoseconds) {
  return wakes(t) ? ms(t.wait.*Value) : "-";
}
std::string longest_at(const ThreadSeen& t, Nanoseconds began) { return wakes(t) ? moment(t.longest_at, began) : "-"; }
std::string preemptions_of(const ThreadSeen& t, Nanoseconds) {
  return t.preemptions_known ? std::to_string(t.preempted.count) : "-";
}
template <double ThreadWait::*Value>
std::string preempted_for(const ThreadSeen& t, Nanoseconds) {
  return ms(t.preempted.*Value);
}
std::string preempted_at(const ThreadSeen& t, Nanoseconds began) { return moment(t.preempted_longest_at, began); }
std::string migrations_of(const ThreadSeen& t, Nanoseconds) {
  return std::isnan(t.wait.migrations) ? "-" : fmt::format("{:.0f}", t.wait.migrations);
}

constexpr const char *kWoken = " after a wake-up ", *kPreempted = " after a preemption ";
constexpr Column kColumns[] = {
    {"", "Runtime ms", 10, WaitsKnown::sums, run_of},
    {"", "Wait ms", 10, WaitsKnown::sums, wait_of},
    {kWoken, "Wakeups", 7, WaitsKnown::all, wakeups_of},
    {kWoken, "Avg ms", 8, WaitsKnown::all, delay_of<&ThreadWait::mean_us>},
    {kWoken, "p50 ms", 8, WaitsKnown::all, delay_of<&ThreadWait::p50_us>},
    {kWoken, "p99 ms", 8, WaitsKnown::all, delay_of<&ThreadWait::p99_us>},
    {kWoken, "Max ms", 8, WaitsKnown::all, delay_of<&ThreadWait::max_us>},
    {kWoken, "at s", 8, WaitsKnown::all, longest_at},
    {kPreempted, "Preempt", 7, WaitsKnown::preemptions, preemptions_of},
    {kPreempted, "p50 ms", 8, WaitsKnown::preemptions, preempted_for<&ThreadWait::p50_us>},
    {kPreempted, "p99 ms", 8, WaitsKnown::preemptions, preempted_for<&ThreadWait::p99_us>},
    {kPreempted, "Max ms", 8, WaitsKnown::preemptions, preempted_for<&ThreadWait::max_us>},
    {kPreempted, "at s", 8, WaitsKnown::preemptions, preempted_at},
    {"", "Migr", 6, WaitsKnown::sums, migrations_of},
};

bool is_known(WaitsKnown least, WaitsKnown known) { return known <= least; }

// A line that names the groups: each over its first column, as wide as all of them.
std::string group_line(WaitsKnown known) {
  std::string line(kName, ' ');
  std::string_view group;
  std::size_t width = 0;
  const auto close = [&] {
    if (width > 0) line += group.empty() ? std::string(width, ' ') : fmt::format(" {:-^{}}", group, width - 1);
    width = 0;
  };
  for (const Column& column : kColumns) {
    if (!is_known(column.least, known)) continue;
    if (group != column.group) close();
    group = column.group;
    width += column.width + 1;
  }
  close();
  return line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
}

std::string title_line(WaitsKnown known) {
  std::string line = fmt::format("{:<{}}", "Task", kName);
  for (const Column& column : kColumns)
    if (is_known(column.least, known)) line += fmt::format(" {:>{}}", column.title, column.width);
  return line + (is_known(WaitsKnown::preemptions, known) ? " preempted by\n" : "\n");
}

std::string row(const ThreadSeen& thread, const SchedTable& table) {
  std::string line = fmt::format("{:<{}}", shorten(escape_controls(thread.wait.thread), kName, "…"), kName);
  for (const Column& column : kColumns)
    if (is_known(column.least, table.known))
      line += fmt::format(" {:>{}}", column.cell(thread, table.began), column.width);
  if (!thread.wait.preempted_by.empty()) line += " " + escape_controls(thread.wait.preempted_by);
  return line + "\n";
}

std::string host_line(const Report& report) {
  std::string line;
  for (const auto& [name, words] : {std::pair{"host.steal_percent", "steal"},
                                    {"host.cpu_pressure_percent", "pressure cpu some"},
                                    {"host.memory_pressure_percent", "memory full"},
                                    {"host.io_pressure_percent", "io full"}})
    for (const Metric& metric : report.metrics)
      if (metric.name == name && metric.scope == "all")
        line += (line.empty() ? "host: " : ", ") + std::string(words) + " " + format_percent(metric.value);
  return line.empty() ? line : line + "\n";
}

}  // namespace

std::string sched_table(const SchedTable& table, std::size_t most) {
  std::string text = is_known(WaitsKnown::preemptions, table.known) ? group_line(table.known) : "";
  text += title_line(table.known);
  for (std::size_t i = 0; i < std::min(table.threads.size(), most); ++i) text += row(table.threads[i], table);
  if (table.threads.size() > most) text += fmt::format("… and {} more threads\n", table.threads.size() - most);
  if (table.threads.empty()) text += "no thread of it ran\n";
  return text;
}

std::string sched_notes(const Report& report) {
  std::string text;
  for (const Coverage& entry : report.coverage) {
    if (!entry.source.starts_with("scheduler")) continue;
    const std::string tier = entry.tier.empty() ? "" : fmt::format(" (tier {})", entry.tier);
    text += fmt::format("{}{}: {}\n", entry.source, tier,
                        entry.reason.empty() ? "collected" : escape_controls(entry.reason));
    if (!entry.hint.empty()) text += fmt::format("  try: {}\n", entry.hint);
  }
  for (const auto& [fact, words] :
       {std::pair{"sched.cross_check", "cross-check"}, {"sched.quota", "quota"}, {"sched.stopped", "stopped"}})
    if (const auto known = report.facts.find(fact); known != report.facts.end())
      text += fmt::format("{}: {}\n", words, escape_controls(known->second));
  return text + host_line(report);
}

}  // namespace gradsync
