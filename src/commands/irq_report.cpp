#include "src/commands/irq_report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <limits>
#include <set>

#include "src/affinity/refusal.h"
#include "src/base/text.h"
#include "src/base/units.h"
#include "src/commands/irq_places.h"

namespace gradsync {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

Cell whole_or_null(const std::optional<int>& value) { return value ? Cell(std::int64_t{*value}) : Cell(kNaN); }

Series cpu_series(const IrqPicture& picture) {
  Series series{"irq_cpus", {"cpu", "node", "core", "isolated", "training", "softirq_percent"}, {}};
  const CpuList online = picture.snapshot.online();
  CpuList training;
  for (const IrqThread& thread : picture.snapshot.threads)
    if (const CpuList own = common(thread.allowed, online); own != online) training = joined(training, own);
  for (const int number : online) {
    const IrqCpu& cpu = picture.snapshot.cpus.at(number);
    const auto share = picture.interval.softirq_percent.find(number);
    series.rows.push_back({std::int64_t{number}, std::int64_t{cpu.node},
                           std::int64_t{cpu.siblings.empty() ? number : cpu.siblings.front()},
                           std::int64_t{cpu.isolated || cpu.nohz_full ? 1 : 0},
                           std::int64_t{contains(training, number) ? 1 : 0},
                           share == picture.interval.softirq_percent.end() ? kNaN : share->second});
  }
  return series;
}

Series device_series(const IrqPlan& plan) {
  Series series{"irq_devices", {"device", "targets", "says", "busiest_over_mean", "predicted"}, {}};
  for (const IrqDevicePlan& device : plan.devices)
    series.rows.push_back({device.label, format_cpu_list(device.targets.cpus), device.targets.says,
                           device.busiest_over_mean, device.predicted});
  return series;
}

std::string shell_line(int irq, const std::string& cpus) {
  return fmt::format("echo {} >/proc/irq/{}/smp_affinity_list", cpus, irq);
}

Series plan_series(const IrqPlan& plan) {
  Series series{
      "irq_plan", {"device", "irq", "vector", "decision", "from", "to", "mask", "rate_hz", "reason", "do", "undo"}, {}};
  for (const IrqPlanLine& line : plan.lines) {
    const bool move = line.decision == IrqDecision::move;
    series.rows.push_back({line.device, std::to_string(line.irq), line.action, std::string(to_string(line.decision)),
                           whole_or_null(line.from), whole_or_null(line.to), format_cpu_list(line.allowed),
                           plan.rates_known ? line.rate_hz : kNaN, line.reason,
                           move ? shell_line(line.irq, std::to_string(*line.to)) : "",
                           move ? shell_line(line.irq, format_cpu_list(line.allowed)) : ""});
  }
  return series;
}

void add_coverage(const IrqPicture& picture, Inputs& inputs) {
  Coverage counts{"interrupts", "C", CoverageState::collected, "", "", 0};
  if (!picture.interval.rates.seconds) {
    counts.state = CoverageState::partial;
    counts.reason = "its counters stand still: a copy of a machine, or no interval; each queue counts the same";
  } else if (picture.interval.softirq_percent.empty()) {
    counts.reason = "counts only: /proc/stat tells no time";
    counts.state = CoverageState::partial;
  }
  inputs.coverage.push_back(std::move(counts));
  if (!picture.snapshot.missing.empty())
    inputs.coverage.push_back({"placement of interrupts", "C", CoverageState::partial,
                               "not readable: " + join(picture.snapshot.missing, "; "), "", 0});
}

}  // namespace

void add_picture(const IrqPicture& picture, Inputs& inputs) {
  for (const auto& [name, series] : picture.interval.series) inputs.series[name] = series;
  if (const auto timed = picture.timed.series.find("irq"); timed != picture.timed.series.end()) {
    Series& all = inputs.series.try_emplace("irq", Series{"irq", timed->second.columns, {}}).first->second;
    all.rows.insert(all.rows.end(), timed->second.rows.begin(), timed->second.rows.end());
  }
  inputs.coverage.insert(inputs.coverage.end(), picture.timed.coverage.begin(), picture.timed.coverage.end());
  inputs.series["irq_cpus"] = cpu_series(picture);
  inputs.series["irq_devices"] = device_series(picture.plan);
  inputs.series["irq_plan"] = plan_series(picture.plan);
  inputs.facts["job"] = "none";
  const std::size_t moves = picture.plan.moves().size();
  inputs.facts["irq.plan"] =
      moves == 0 ? "no interrupt has to move"
                 : fmt::format("{} interrupt{} had better come on another CPU", moves, moves == 1 ? "" : "s");
  if (std::string places = numa_text(picture.snapshot); !places.empty()) inputs.facts["irq.numa"] = std::move(places);
  std::vector<std::string> owners;
  for (const IrqOwner& owner : picture.snapshot.owners)
    owners.push_back(fmt::format("{} (process {})", owner.name, owner.pid));
  if (!owners.empty()) inputs.facts["irq.owners"] = join(owners, ", ");
  if (!picture.snapshot.host.empty()) inputs.run.hosts = {picture.snapshot.host};
  inputs.run.cpus = static_cast<int>(picture.snapshot.online().size());
  inputs.run.seconds = picture.interval.rates.seconds.value_or(0);
  add_coverage(picture, inputs);
}

void add_changes(const std::vector<IrqOutcome>& outcomes, Inputs& inputs) {
  Series changes{"irq_changes", {"irq", "vector", "device", "state", "cpus", "says", "command"}, {}};
  for (const IrqOutcome& outcome : outcomes)
    changes.rows.push_back({std::to_string(outcome.irq), outcome.action, outcome.device,
                            std::string(to_string(outcome.state)), format_cpu_list(outcome.wanted), outcome.says,
                            outcome.command});
  inputs.series["irq_changes"] = std::move(changes);
}

namespace {

std::string outcome_text(const TransactionResult& result) {
  switch (result.end) {
    case TransactionEnd::nothing_to_do:
      return "nothing had to move";
    case TransactionEnd::kept:
      return "the change stays; gradsync-doctor irq --undo takes it back";
    case TransactionEnd::restored_equal:
      return "no difference shown, so everything is as before; --keep would have left it";
    case TransactionEnd::restored_worse:
      return "it became worse, so everything is as before";
    case TransactionEnd::reverted:
      return "another owner changed it back; what was still ours is as before";
    case TransactionEnd::not_permitted:
      return "not permitted here: nothing is changed";
    case TransactionEnd::failed:
      return "nothing could be moved: everything is as before";
    case TransactionEnd::interrupted:
      break;
  }
  return "stopped by a signal: everything is as before";
}

}  // namespace

void add_result(const TransactionResult& result, Inputs& inputs) {
  add_changes(result.outcomes, inputs);
  Series compared{"irq_compared",
                  {"measure", "unit", "before_p50", "before_n", "after_p50", "after_n", "change", "low", "high"},
                  {}};
  for (const IrqComparison& c : result.comparisons)
    compared.rows.push_back({c.before.name, c.before.unit, median(c.before.windows).value_or(kNaN),
                             static_cast<std::int64_t>(c.before.windows.size()), median(c.after.windows).value_or(kNaN),
                             static_cast<std::int64_t>(c.after.windows.size()), c.change ? c.change->value : kNaN,
                             c.change ? c.change->low : kNaN, c.change ? c.change->high : kNaN});
  inputs.series["irq_compared"] = std::move(compared);
  inputs.facts["irq.outcome"] = outcome_text(result);
  if (!result.remedy) return;
  const Remedy& remedy = *result.remedy;
  inputs.facts["irq.remedy"] = (remedy.who.empty() ? "" : "changed by " + remedy.who + ": ") + remedy.says;
  Series lines{"irq_remedy", {"line"}, {}};
  std::string_view rest = remedy.command;
  while (!rest.empty()) {
    const std::size_t length = std::min(rest.find('\n'), rest.size());
    lines.rows.push_back({std::string(rest.substr(0, length))});
    rest.remove_prefix(std::min(length + 1, rest.size()));
  }
  inputs.series["irq_remedy"] = std::move(lines);
}

Coverage earlier_change(const OpenJournal& open) {
  const std::string what = fmt::format("{} interrupt{} of {}", open.journal.irqs.size(),
                                       open.journal.irqs.size() == 1 ? "" : "s", open.journal.time);
  Coverage entry{"changed interrupts", "", CoverageState::partial, "", "gradsync-doctor irq --undo", 0};
  if (open.running) {
    entry.reason = "a gradsync-doctor irq --fix is running now: " + what;
    entry.hint.clear();
  } else if (open.journal.state == JournalState::begun) {
    entry.reason = "an irq --fix ended in the middle and left " + what + " where it had put them";
  } else {
    entry.state = CoverageState::collected;
    entry.reason = "an earlier irq --fix is in place: " + what;
  }
  return entry;
}

std::vector<Coverage> irq_coverage(const IrqRoots& roots, const std::filesystem::path& journals) {
  const Result<IrqSnapshot> snapshot = read_irq_snapshot(roots);
  if (!snapshot) return {{"interrupts", "", CoverageState::unavailable, snapshot.error().message(), "", 0}};
  std::vector<Coverage> entries{{"interrupts", "C", CoverageState::collected, "", "", 0}};
  Coverage moving{
      "moving of interrupts", "", CoverageState::unavailable, "no interrupt has a mask that may change", "", 0};
  for (const auto& [irq, line] : snapshot->lines) {
    if (!line.allowed || line.managed()) continue;
    const auto path = roots.proc / "irq" / std::to_string(irq) / "smp_affinity_list";
    if (::access(path.c_str(), W_OK) == 0) {
      moving = {moving.source, "", CoverageState::collected, "", "", 0};
      break;
    }
    const Refusal refusal = explain_refusal(errno, irq, *line.allowed);
    moving.reason = refusal.says;
    moving.hint = refusal.kind == RefusalKind::not_permitted ? "sudo gradsync-doctor irq --fix" : refusal.command;
  }
  entries.push_back(std::move(moving));
  if (const auto open = open_journal(journals, snapshot->boot_id)) entries.push_back(earlier_change(*open));
  return entries;
}

}  // namespace gradsync
