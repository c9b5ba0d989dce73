#include "src/commands/irq_measure.h"

#include <algorithm>

#include "collectors/host/irq_files.h"
#include "src/base/text.h"
#include "src/hosttext/numbers.h"

namespace gradsync {
namespace {

constexpr double kFewest = 100;  // interrupts in a window: below, shares of CPUs move by chance
constexpr int kWindows = 8;

void add_window(std::vector<IrqMeasure>& all, std::vector<IrqMeasure> window) {
  for (IrqMeasure& measure : window) {
    const auto known =
        std::find_if(all.begin(), all.end(), [&](const IrqMeasure& other) { return other.name == measure.name; });
    if (known == all.end())
      all.push_back(std::move(measure));
    else
      known->windows.insert(known->windows.end(), measure.windows.begin(), measure.windows.end());
  }
}

double softirq_us(const IrqInterval& interval) {
  double percent = 0;
  for (const auto& [cpu, share] : interval.softirq_percent) percent += share;
  return percent * 1e-2 * interval.rates.seconds.value_or(0) * 1e6;
}

}  // namespace

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::optional<ThreadTimes> thread_times(const IrqRoots& roots, const std::vector<IrqThread>& threads) {
  std::optional<ThreadTimes> times;
  for (const IrqThread& thread : threads) {
    const auto text =
        small_text(roots.proc / std::to_string(thread.pid) / "task" / std::to_string(thread.tid) / "schedstat");
    if (!text) continue;
    const std::vector<std::string_view> words = split_words(*text);
    if (words.size() < 2) continue;
    if (!times) times.emplace();
    times->run_ns += static_cast<double>(parse_unsigned(words[0]).value_or(0));
    times->wait_ns += static_cast<double>(parse_unsigned(words[1]).value_or(0));
  }
  return times;
}

std::vector<IrqMeasure> measures_of(const IrqInterval& interval, const IrqPlan& plan, const IrqSnapshot& snapshot) {
  const CpuList online = snapshot.online();
  CpuList training;
  for (const IrqThread& thread : snapshot.threads)
    if (const CpuList own = common(thread.allowed, online); own != online) training = joined(training, own);
  std::map<int, double> by_cpu;
  double total = 0, most = 0, on_training = 0;
  for (const IrqPlanLine& line : plan.lines) {
    const auto counted = interval.rates.count.find(line.irq);
    if (line.decision == IrqDecision::leave || counted == interval.rates.count.end()) continue;
    for (const auto& [cpu, count] : counted->second) {
      total += count;
      most = std::max(most, by_cpu[cpu] += count);
      if (contains(training, cpu)) on_training += count;
    }
  }
  if (total < kFewest) return {};
  std::vector<IrqMeasure> measures{{"the busiest CPU's share of these interrupts", "percent", {100 * most / total}}};
  if (!interval.softirq_percent.empty())
    measures.push_back({"softirq time per interrupt", "us", {softirq_us(interval) / total}});
  if (!training.empty())
    measures.push_back({"interrupts on the training's CPUs", "percent", {100 * on_training / total}});
  return measures;
}

std::optional<std::vector<IrqMeasure>> measure_windows(const IrqRoots& roots, const IrqPlan& plan,
                                                       const IrqSnapshot& snapshot, IrqKernel& kernel,
                                                       std::chrono::milliseconds all) {
  std::vector<IrqMeasure> measures;
  for (int window = 0; window < kWindows; ++window) {
    const Result<IrqCounters> before = read_irq_counters(roots, steady_seconds());
    const auto times_before = thread_times(roots, snapshot.threads);
    if (kernel.wait(all / kWindows) == Waited::interrupted) return std::nullopt;
    const Result<IrqCounters> after = read_irq_counters(roots, steady_seconds());
    const auto times = thread_times(roots, snapshot.threads);
    if (before && after) add_window(measures, measures_of(irq_interval(*before, *after, ""), plan, snapshot));
    if (!times_before || !times) continue;
    const double wait = times->wait_ns - times_before->wait_ns, run = times->run_ns - times_before->run_ns;
    if (run + wait > 0 && wait >= 0 && run >= 0)
      add_window(measures, {{"the training's wait for a CPU", "percent", {100 * wait / (run + wait)}}});
  }
  return measures;
}

}  // namespace gradsync
