#include "collectors/host/irq_interval.h"

#include <unistd.h>

#include <cmath>
#include <limits>

#include "src/base/file.h"
#include "src/base/text.h"
#include "src/hosttext/interrupt_counts.h"
#include "src/hosttext/numbers.h"
#include "src/hosttext/series.h"

namespace gradsync {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kMostBytes = std::size_t{64} << 20;

std::string text_of(const std::filesystem::path& path) {
  Result<std::string> text = read_file(path, kMostBytes);
  return text ? std::move(*text) : std::string();
}

template <class Use>
void each_line(std::string_view text, Use use) {
  while (!text.empty()) {
    const std::size_t length = std::min(text.find('\n'), text.size());
    use(split_words(text.substr(0, length)));
    text.remove_prefix(std::min(length + 1, text.size()));
  }
}

// "cpu3 user nice system idle iowait irq softirq steal …"
std::map<int, CpuTicks> read_ticks(const std::string& text) {
  std::map<int, CpuTicks> ticks;
  each_line(text, [&](const std::vector<std::string_view>& words) {
    if (words.size() < 8 || !words[0].starts_with("cpu") || words[0].size() < 4) return;
    const auto cpu = parse_unsigned(words[0].substr(3));
    if (!cpu || *cpu > 1'000'000) return;
    CpuTicks& of_cpu = ticks[static_cast<int>(*cpu)];
    for (std::size_t i = 1; i < words.size() && i <= 8; ++i) of_cpu.all += parse_unsigned(words[i]).value_or(0);
    of_cpu.irq = parse_unsigned(words[6]).value_or(0);
    of_cpu.softirq = parse_unsigned(words[7]).value_or(0);
  });
  return ticks;
}

std::optional<std::uint32_t> hexadecimal(std::string_view word) {
  std::uint32_t value = 0;
  for (const char c : word) {
    const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    if (digit < 0 || word.size() > 8) return std::nullopt;
    value = value << 4 | static_cast<std::uint32_t>(digit);
  }
  return value;
}

// A line for each CPU that is online: processed dropped squeezed …; from 5.10 on the 13th word is the CPU.
std::map<int, SoftnetCounts> read_softnet(const std::string& text, const std::vector<int>& cpus) {
  std::map<int, SoftnetCounts> counts;
  std::size_t line = 0;
  each_line(text, [&](const std::vector<std::string_view>& words) {
    const std::size_t position = line++;
    if (words.size() < 3) return;
    std::optional<int> cpu;
    if (words.size() >= 13)
      if (const auto number = hexadecimal(words[12])) cpu = static_cast<int>(*number);
    if (!cpu && position < cpus.size()) cpu = cpus[position];
    const auto processed = hexadecimal(words[0]), dropped = hexadecimal(words[1]), squeezed = hexadecimal(words[2]);
    if (cpu && processed && dropped && squeezed) counts[*cpu] = {*processed, *dropped, *squeezed};
  });
  return counts;
}

// Rows of a softirq carry its name where those of devices carry their number; no device, so that none is charged.
void add_softirq_row(Series& series, std::string_view name, int cpu, std::int64_t count, double hard_us, double soft_us,
                     const IrqOrigin& origin) {
  series.rows.push_back({std::string(), std::string(name), std::int64_t{cpu}, count, hard_us, soft_us,
                         std::string(name), std::string("softirq"), origin.seconds.value_or(kNaN), origin.source,
                         origin.machine});
}

void add_softirqs(const IrqCounters& before, const IrqCounters& after, IrqOrigin origin, Series& series) {
  if (!before.softirqs || !after.softirqs) return;
  InterruptCounts counts;
  counts.add(*before.softirqs);
  counts.add(*after.softirqs);
  origin.source = "/proc/softirqs";
  for (const InterruptCount& count : counts.between())
    add_softirq_row(series, count.id, count.cpu, static_cast<std::int64_t>(count.count), kNaN, kNaN, origin);
}

// Kernels without CONFIG_IRQ_TIME_ACCOUNTING never count hard interrupts there: 0 on all CPUs since boot is "not known".
void add_times(const IrqCounters& before, const IrqCounters& after, IrqOrigin origin, IrqInterval& interval) {
  const double us_per_tick = 1e6 / static_cast<double>(::sysconf(_SC_CLK_TCK));
  bool hard_known = false;
  for (const auto& [cpu, ticks] : after.ticks) hard_known = hard_known || ticks.irq > 0;
  origin.source = "/proc/stat";
  for (const auto& [cpu, now] : after.ticks) {
    const auto was = before.ticks.find(cpu);
    if (was == before.ticks.end() || now.softirq < was->second.softirq || now.irq < was->second.irq) continue;
    const double soft = static_cast<double>(now.softirq - was->second.softirq);
    const double hard = static_cast<double>(now.irq - was->second.irq);
    if (now.all > was->second.all)
      interval.softirq_percent[cpu] = 100 * soft / static_cast<double>(now.all - was->second.all);
    add_softirq_row(interval.series["irq"], "all", cpu, 0, hard_known ? hard * us_per_tick : kNaN, soft * us_per_tick,
                    origin);
  }
}

// 32-bit counters that come round.
void add_softnet(const IrqCounters& before, const IrqCounters& after, const IrqOrigin& origin, SeriesSet& set) {
  Series series{"softnet", {"cpu", "processed", "dropped", "squeezed", "interval_s", "machine"}, {}};
  for (const auto& [cpu, now] : after.softnet) {
    const auto was = before.softnet.find(cpu);
    if (was == before.softnet.end()) continue;
    const auto difference = [](std::uint32_t a, std::uint32_t b) { return std::int64_t{b - a}; };
    series.rows.push_back({std::int64_t{cpu}, difference(was->second.processed, now.processed),
                           difference(was->second.dropped, now.dropped), difference(was->second.squeezed, now.squeezed),
                           origin.seconds.value_or(kNaN), origin.machine});
  }
  if (!series.rows.empty()) set["softnet"] = std::move(series);
}

}  // namespace

Result<IrqCounters> read_irq_counters(const IrqRoots& roots, double at_s) {
  const Result<std::string> text = read_file(roots.proc / "interrupts", kMostBytes);
  if (!text) return text.error();
  std::vector<InterruptSnapshot> interrupts = parse_interrupts(*text);
  if (interrupts.empty())
    return Error{"cannot read", (roots.proc / "interrupts").string(), "it has no line of CPU names", "", 3};
  IrqCounters counters;
  counters.at_s = at_s;
  counters.interrupts = std::move(interrupts.back());
  std::vector<InterruptSnapshot> softirqs = parse_interrupts(text_of(roots.proc / "softirqs"));
  if (!softirqs.empty()) counters.softirqs = std::move(softirqs.back());
  counters.ticks = read_ticks(text_of(roots.proc / "stat"));
  counters.softnet = read_softnet(text_of(roots.proc / "net/softnet_stat"), counters.interrupts.cpus);
  return counters;
}

IrqInterval irq_interval(const IrqCounters& before, const IrqCounters& after, const std::string& machine) {
  InterruptCounts counts;
  counts.add(before.interrupts);
  counts.add(after.interrupts);
  IrqInterval interval;
  const std::vector<InterruptCount> between = counts.between();
  std::uint64_t came = 0;
  for (const InterruptCount& count : between) came += count.count;
  // Timers alone raise thousands on a machine that runs: counters that stand still are a copy's.
  if (came > 0 && after.at_s > before.at_s) interval.rates.seconds = after.at_s - before.at_s;
  for (const InterruptCount& count : between)
    if (count.device) interval.rates.count[std::atoi(count.id.c_str())][count.cpu] += static_cast<double>(count.count);
  const IrqOrigin origin{"/proc/interrupts", machine, interval.rates.seconds};
  Series& series = interval.series["irq"];
  series = irq_series(between, origin);
  if (!origin.seconds) return interval;
  add_softirqs(before, after, origin, series);
  add_times(before, after, origin, interval);
  add_softnet(before, after, origin, interval.series);
  return interval;
}

}  // namespace gradsync
