#include "src/commands/sched_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "collectors/host/sched_parts.h"
#include "src/base/text.h"
#include "src/hosttext/numbers.h"

namespace gradsync {
namespace {

std::string ms(double us) { return std::isnan(us) ? "-" : fmt::format("{:.3f}", us * 1e-3); }

std::string moment(Nanoseconds at, Nanoseconds began) {
  return at == 0 ? "-" : fmt::format("{:.3f}", static_cast<double>(at - began) * 1e-9);
}

std::string row(const ThreadSeen& thread, Nanoseconds began) {
  const ThreadWait &wait = thread.wait, &preempted = thread.preempted;
  const bool wakes = wait.count > 0 && wakeups_seen_percent({wait}) >= kLeastCoverage;
  const auto delay = [wakes](double us) { return wakes ? ms(us) : std::string("-"); };
  const bool traced = wait.count + preempted.count > 0;
  return fmt::format("{:<24} {:>11} {:>11} {:>8} {:>9} {:>9} {:>9} {:>9} {:>8} {:>9} {:>6} {}\n",
                     shorten(escape_controls(wait.thread), 24, "…"), ms(wait.run_us), ms(wait.wait_us),
                     std::isnan(wait.unseen) ? "-" : std::to_string(wait.count), delay(wait.mean_us),
                     delay(wait.p99_us), delay(wait.max_us), wakes ? moment(thread.longest_at, began) : "-",
                     traced ? std::to_string(preempted.count) : "-", ms(preempted.max_us),
                     std::isnan(wait.migrations) ? "-" : fmt::format("{:.0f}", wait.migrations),
                     escape_controls(wait.preempted_by));
}

}  // namespace

std::string sched_table(const std::vector<ThreadSeen>& threads, std::size_t most, Nanoseconds began) {
  std::string text = fmt::format("{:<24} {:>11} {:>11} {:>8} {:>9} {:>9} {:>9} {:>9} {:>8} {:>9} {:>6} {}\n", "Task",
                                 "Runtime ms", "Wait ms", "Wakeups", "Avg ms", "p99 ms", "Max ms", "Max at s",
                                 "Preempt", "Max ms", "Migr", "preempted by");
  for (std::size_t i = 0; i < std::min(threads.size(), most); ++i) text += row(threads[i], began);
  if (threads.size() > most) text += fmt::format("… and {} more threads\n", threads.size() - most);
  if (threads.empty()) text += "no thread of it ran\n";
  return text;
}

}  // namespace gradsync
