#include "src/affinity/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "src/base/units.h"

namespace gradsync {
namespace {

constexpr double kHysteresis = 1.2;         // stay within 20 % of the best
constexpr double kLeastImprovement = 0.10;  // of busiest over mean
constexpr std::size_t kMostInstead = 3;

// Lines that share a CPU: rx and tx of one queue.
struct Group {
  std::string queue;
  std::vector<std::size_t> lines;  // positions in the plan
  double weight = 0;
};

// "virtio2-input.0" and "virtio2-output.0", "eth0-rx-3" and "eth0-tx-3" are one queue each.
std::string queue_of(std::string action) {
  for (const auto& [word, common] : {std::pair{"input", "queue"},
                                     {"output", "queue"},
                                     {"-rx-", "-q-"},
                                     {"-tx-", "-q-"},
                                     {"-Rx-", "-q-"},
                                     {"-Tx-", "-q-"}})
    if (const std::size_t at = action.find(word); at != std::string::npos)
      return action.replace(at, std::string_view(word).size(), common);
  return action;
}

bool is_named(const std::vector<std::string>& names, const std::string& key, const IrqDevice& device) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return name == key || name == device.label ||
           std::find(device.serves.begin(), device.serves.end(), name) != device.serves.end();
  });
}

const IrqDevice& device_of(const IrqSnapshot& snapshot, const IrqLine& line) {
  static const IrqDevice kNone;
  const auto found = snapshot.devices.find(line.device);
  return found == snapshot.devices.end() ? kNone : found->second;
}

bool is_asked_for(const IrqSnapshot& snapshot, const IrqLine& line, const IrqPlanOptions& options) {
  if (!options.irqs.empty() && std::find(options.irqs.begin(), options.irqs.end(), line.irq) == options.irqs.end())
    return false;
  return options.devices.empty() || is_named(options.devices, line.device, device_of(snapshot, line));
}

// CRI-O and NRI plugins rewrite the masks with each pod; tuned does where its profile has isolated CPUs.
std::string owner_of_all(const IrqSnapshot& snapshot) {
  const bool restricted =
      snapshot.default_allowed && common(*snapshot.default_allowed, snapshot.online()) != snapshot.online();
  for (const IrqOwner& owner : snapshot.owners) {
    if (owner.name == "irqbalance" || (owner.name == "tuned" && !restricted)) continue;
    return fmt::format("{} (process {}) places interrupts here: change its configuration", owner.name, owner.pid);
  }
  return "";
}

bool is_timer_or_ipi(const std::string& action) {
  std::string lower(action);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return lower.find("timer") != std::string::npos || lower.starts_with("ipi") || lower.find("pmu") != std::string::npos;
}

// Why a line is none that may be moved; "" when it is one.
std::string why_not(const IrqSnapshot& snapshot, const IrqLine& line, const IrqRates& rates,
                    const IrqPlanOptions& options) {
  const IrqDevice& device = device_of(snapshot, line);
  const bool named = !options.irqs.empty();
  if (line.managed()) return "managed: the kernel itself spreads it, and refuses another CPU";
  if (is_timer_or_ipi(line.action)) return "a timer's or the CPUs' own";
  if (!line.allowed) return "its mask cannot be read";
  if (line.role == VectorRole::control) return "configuration or events, no queue";
  if (line.role == VectorRole::other && !named) return "not known as a device's queue";
  if (line.threaded) return "a kernel thread runs its handler: place that thread";
  if (snapshot.realtime) return "a realtime kernel: its threads are placed, not its interrupts";
  if (std::string owner = owner_of_all(snapshot); !owner.empty()) return owner;
  if (device.kind != IrqDeviceKind::network && !named && options.devices.empty())
    return fmt::format("a {} device: --device {} includes it",
                       device.kind == IrqDeviceKind::storage ? "storage" : "non-network", device.label);
  if (rates.seconds && rates.per_second(line.irq) < options.least_rate_hz && !named)
    return fmt::format("{}/s: below {}/s it costs too little to matter", format_short(rates.per_second(line.irq)),
                       format_short(options.least_rate_hz));
  return "";
}

class Planner {
 public:
  Planner(const IrqSnapshot& snapshot, const IrqRates& rates, const IrqPlanOptions& options)
      : snapshot_(snapshot), rates_(rates), options_(options) {
    plan_.rates_known = rates.seconds.has_value();
  }

  IrqPlan plan() {
    std::map<std::string, std::vector<std::size_t>> candidates;  // device → positions of lines
    for (const auto& [irq, line] : snapshot_.lines)
      if (is_asked_for(snapshot_, line, options_)) add_line(line, candidates);
    add_other_load(candidates);
    for (const std::string& device : busiest_first(candidates)) place_device(device, candidates[device]);
    std::stable_sort(plan_.lines.begin(), plan_.lines.end(),
                     [](const IrqPlanLine& a, const IrqPlanLine& b) { return a.device < b.device; });
    return std::move(plan_);
  }

 private:
  void add_line(const IrqLine& line, std::map<std::string, std::vector<std::size_t>>& candidates) {
    IrqPlanLine planned;
    planned.irq = line.irq;
    planned.action = line.action;
    planned.device = device_of(snapshot_, line).label;
    planned.allowed = line.allowed.value_or(CpuList{});
    planned.from = serving_cpu(line, rates_);
    planned.rate_hz = rates_.per_second(line.irq);
    planned.reason = why_not(snapshot_, line, rates_, options_);
    if (planned.reason.empty()) candidates[line.device].push_back(plan_.lines.size());
    plan_.lines.push_back(std::move(planned));
  }

  // What CPUs serve besides: it stays there.
  void add_other_load(const std::map<std::string, std::vector<std::size_t>>& candidates) {
    if (!rates_.seconds) return;
    std::vector<int> movable;
    for (const auto& [device, lines] : candidates)
      for (const std::size_t line : lines) movable.push_back(plan_.lines[line].irq);
    for (const auto& [irq, by_cpu] : rates_.count)
      if (std::find(movable.begin(), movable.end(), irq) == movable.end())
        for (const auto& [cpu, count] : by_cpu) load_[cpu] += count / *rates_.seconds;
  }

  double weight(const IrqPlanLine& line) const { return rates_.seconds ? line.rate_hz : 1.0; }

  double total(const std::vector<std::size_t>& lines) const {
    double sum = 0;
    for (const std::size_t line : lines) sum += weight(plan_.lines[line]);
    return sum;
  }

  std::vector<std::string> busiest_first(const std::map<std::string, std::vector<std::size_t>>& candidates) const {
    std::vector<std::string> order;
    for (const auto& [device, lines] : candidates) order.push_back(device);
    std::stable_sort(order.begin(), order.end(), [&](const std::string& a, const std::string& b) {
      return total(candidates.at(a)) > total(candidates.at(b));
    });
    return order;
  }

  std::vector<Group> groups_of(const std::vector<std::size_t>& lines) const {
    std::map<std::string, Group> by_queue;
    for (const std::size_t line : lines) {
      Group& group = by_queue[queue_of(plan_.lines[line].action)];
      group.lines.push_back(line);
      group.weight += weight(plan_.lines[line]);
    }
    std::vector<Group> groups;
    for (auto& [queue, group] : by_queue) groups.push_back(std::move(group));
    std::stable_sort(groups.begin(), groups.end(), [&](const Group& a, const Group& b) {
      if (a.weight != b.weight) return a.weight > b.weight;
      return plan_.lines[a.lines.front()].irq < plan_.lines[b.lines.front()].irq;
    });
    return groups;
  }

  double load(int cpu) const {
    const auto found = load_.find(cpu);
    return found == load_.end() ? 0 : found->second;
  }

  // Least loaded first; of equal ones first those whose core is quiet, then those that serve the queue already.
  std::vector<int> ranked(const CpuList& targets, std::optional<int> current) const {
    const auto key = [&](int cpu) {
      double core = 0;
      for (const int sibling : snapshot_.cpus.at(cpu).siblings) core += load(sibling);
      return std::tuple(load(cpu), core, current == cpu ? 0 : 1, cpu);
    };
    std::vector<int> order(targets);
    std::sort(order.begin(), order.end(), [&](int a, int b) { return key(a) < key(b); });
    return order;
  }

  // The CPU on which all lines of the group are; else none.
  std::optional<int> common_cpu(const Group& group) const {
    const std::optional<int> first = plan_.lines[group.lines.front()].from;
    for (const std::size_t line : group.lines)
      if (plan_.lines[line].from != first) return std::nullopt;
    return first;
  }

  void place_group(const Group& group, const CpuList& targets) {
    const std::optional<int> current = common_cpu(group);
    const std::vector<int> order = ranked(targets, plan_.lines[group.lines.front()].from);
    int chosen = order.front();
    if (current && contains(targets, *current) &&
        load(*current) + group.weight <= kHysteresis * (load(chosen) + group.weight))
      chosen = *current;
    for (const std::size_t position : group.lines) {
      IrqPlanLine& line = plan_.lines[position];
      line.to = chosen;
      line.decision = line.from == chosen ? IrqDecision::stay : IrqDecision::move;
      for (const int cpu : order)
        if (cpu != chosen && line.instead.size() < kMostInstead) line.instead.push_back(cpu);
    }
    load_[chosen] += group.weight;
  }

  // Busiest CPU over the mean of as many CPUs as the device's queues could have.
  double busiest_over_mean(const std::vector<std::size_t>& lines, std::size_t cpus,
                           std::optional<int> IrqPlanLine::*where) const {
    std::map<int, double> by_cpu;
    double sum = 0, most = 0;
    for (const std::size_t line : lines) {
      const std::optional<int>& cpu = plan_.lines[line].*where;
      if (!cpu) continue;
      by_cpu[*cpu] += weight(plan_.lines[line]);
      sum += weight(plan_.lines[line]);
      most = std::max(most, by_cpu[*cpu]);
    }
    return sum > 0 && cpus > 0 ? most * static_cast<double>(cpus) / sum : 1;
  }

  void place_device(const std::string& key, const std::vector<std::size_t>& lines) {
    const IrqDevice& device = snapshot_.devices.contains(key) ? snapshot_.devices.at(key) : nameless_;
    IrqDevicePlan summary{plan_.lines[lines.front()].device,
                          target_cpus(snapshot_, device, options_.cpus, options_.numa), 0, 0};
    if (summary.targets.cpus.empty()) return leave_device(lines, std::move(summary));
    const std::map<int, double> load_before = load_;
    const std::vector<Group> groups = groups_of(lines);
    for (const Group& group : groups) place_group(group, summary.targets.cpus);
    const std::size_t cpus = std::min(summary.targets.cpus.size(), groups.size());
    summary.busiest_over_mean = busiest_over_mean(lines, cpus, &IrqPlanLine::from);
    summary.predicted = busiest_over_mean(lines, cpus, &IrqPlanLine::to);
    const bool misplaced = std::any_of(lines.begin(), lines.end(), [&](std::size_t line) {
      return plan_.lines[line].from && !contains(summary.targets.cpus, *plan_.lines[line].from);
    });
    const bool better = summary.predicted <= summary.busiest_over_mean * (1 - kLeastImprovement);
    if (!misplaced && !better) {
      load_ = load_before;
      stay_all(lines, summary);
    } else {
      for (const std::size_t line : lines) explain(plan_.lines[line], device, summary);
    }
    plan_.devices.push_back(std::move(summary));
  }

  void leave_device(const std::vector<std::size_t>& lines, IrqDevicePlan summary) {
    for (const std::size_t line : lines) plan_.lines[line].reason = summary.targets.says;
    plan_.devices.push_back(std::move(summary));
  }

  void stay_all(const std::vector<std::size_t>& lines, IrqDevicePlan& summary) {
    const std::string reason = summary.busiest_over_mean > summary.predicted
                                   ? fmt::format("moving would bring busiest/mean from {:.2f} to {:.2f} only",
                                                 summary.busiest_over_mean, summary.predicted)
                                   : std::string("spread as well as it can be");
    summary.predicted = summary.busiest_over_mean;
    for (const std::size_t position : lines) {
      IrqPlanLine& line = plan_.lines[position];
      line.decision = IrqDecision::stay;
      line.to.reset();
      line.instead.clear();
      line.reason = reason;
      if (line.from) load_[*line.from] += weight(line);
    }
  }

  void explain(IrqPlanLine& line, const IrqDevice& device, const IrqDevicePlan& summary) const {
    if (line.decision == IrqDecision::stay) {
      line.to.reset();
      line.instead.clear();
      line.reason = "well placed: within 20 % of the best";
      return;
    }
    line.reason = line.from ? objection(snapshot_, device, options_.cpus, *line.from) : "no CPU serves it yet";
    if (!line.reason.empty() && !(line.from && contains(summary.targets.cpus, *line.from))) return;
    std::size_t beside = 0;
    for (const IrqPlanLine& other : plan_.lines)
      if (other.irq != line.irq && other.from == line.from && other.device == line.device &&
          (other.decision != IrqDecision::leave || other.to))
        ++beside;
    line.reason = beside == 0 ? fmt::format("CPU {} has less to serve", *line.to)
                              : fmt::format("CPU {} serves {} more of the device's queues", *line.from, beside);
  }

  const IrqSnapshot& snapshot_;
  const IrqRates& rates_;
  const IrqPlanOptions& options_;
  const IrqDevice nameless_;
  IrqPlan plan_;
  std::map<int, double> load_;
};

}  // namespace

const char* to_string(IrqDecision decision) {
  switch (decision) {
    case IrqDecision::move:
      return "move";
    case IrqDecision::stay:
      return "stay";
    case IrqDecision::leave:
      break;
  }
  return "leave";
}

std::vector<IrqPlanLine> IrqPlan::moves() const {
  std::vector<IrqPlanLine> moves;
  for (const IrqPlanLine& line : lines)
    if (line.decision == IrqDecision::move) moves.push_back(line);
  return moves;
}

std::optional<int> serving_cpu(const IrqLine& line, const IrqRates& rates) {
  if (line.effective && line.effective->size() == 1) return line.effective->front();
  if (const auto busiest = rates.busiest(line.irq)) return busiest;
  if (line.effective && !line.effective->empty()) return line.effective->front();
  if (line.allowed && line.allowed->size() == 1) return line.allowed->front();
  return std::nullopt;
}

std::vector<std::string> unknown_names(const IrqSnapshot& snapshot, const IrqPlanOptions& options) {
  std::vector<std::string> unknown;
  for (const std::string& name : options.devices) {
    const bool known = std::any_of(snapshot.devices.begin(), snapshot.devices.end(),
                                   [&](const auto& entry) { return is_named({name}, entry.first, entry.second); });
    if (!known) unknown.push_back(name);
  }
  for (const int irq : options.irqs)
    if (!snapshot.lines.contains(irq)) unknown.push_back(std::to_string(irq));
  return unknown;
}

IrqPlan plan_interrupts(const IrqSnapshot& snapshot, const IrqRates& rates, const IrqPlanOptions& options) {
  return Planner(snapshot, rates, options).plan();
}

}  // namespace gradsync
