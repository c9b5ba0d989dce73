// What interrupts cost and how evenly a device spreads them, from the series `irq`. A rate needs an interval, a share of
// time needs measured handlers, and imbalance needs complete counts: what a source cannot give is left out.
#include <algorithm>
#include <set>

#include "analyzers/analyzers.h"
#include "analyzers/rows.h"
#include "src/base/statistics.h"
#include "src/base/units.h"
#include "src/model/series_table.h"

namespace gradsync {
namespace {

constexpr double kFewestInterrupts = 1000;  // below, shares of CPUs move by chance
constexpr double kManyRuns = 1000;          // of NET_RX in a second
constexpr double kFewInterrupts = 0.1;      // for each of them
constexpr std::size_t kMostDevices = 64;
// perf's ring buffers lose interrupts of idle CPUs and do not count them.
bool is_lossy(std::string_view source) { return source == "perf script" || source == "perf rings"; }
// Counts the same interrupts as /proc/interrupts, which is read beside it.
bool counts_again(std::string_view source) { return is_lossy(source) || source == "eBPF"; }
// The tick's samples: where handlers were timed too, those are the better number, not a further one.
bool is_sampled(std::string_view source) { return source == "/proc/stat"; }

struct Device {
  double count = 0, seconds = 0;
  double hard_us = 0, timed_seconds = 0, timed_count = 0;
  std::map<double, double> by_cpu;  // interrupts of queues
  std::set<std::string> queues;
  std::string source, time_source;
};

struct Times {
  std::map<double, double> hard_us, soft_us;  // by CPU
  double seconds = 0;
  std::string source;
};

// A softirq on one CPU.
struct Action {
  double count = 0, us = 0;
};

struct Machine {
  std::map<std::string, Device> devices;
  Times timed, sampled;
  std::map<std::pair<std::string, double>, Action> actions;  // timed ones: "NET_RX", CPU
  std::map<double, double> received;                         // NET_RX per second, by CPU
  double rate_hz = 0;                                        // of devices, over the sources that know it
  std::string rate_source;
};

void add_softirq(const SeriesTable& table, const std::vector<Cell>& row, Machine& machine) {
  const std::string action = table.text(row, "irq"), source = table.text(row, "source");
  const double count = table.number(row, "count").value_or(0), cpu = table.number(row, "cpu").value_or(-1);
  if (source == "/proc/softirqs" && action == "NET_RX")
    machine.received[cpu] += count / table.number(row, "interval_s").value_or(1);
  const auto soft = table.number(row, "soft_us");
  if (!soft || is_sampled(source)) return;
  Action& timed = machine.actions[{action, cpu}];
  timed.count += count;
  timed.us += *soft;
}

void add_row(const SeriesTable& table, const std::vector<Cell>& row, Machine& machine) {
  const std::string role = table.text(row, "role"), source = table.text(row, "source");
  const double count = table.number(row, "count").value_or(0), cpu = table.number(row, "cpu").value_or(-1);
  const double seconds = table.number(row, "interval_s").value_or(0);
  const auto hard = table.number(row, "hard_us"), soft = table.number(row, "soft_us");
  if ((hard || soft) && seconds > 0) {
    Times& times = is_sampled(source) ? machine.sampled : machine.timed;
    if (hard) times.hard_us[cpu] += *hard;
    if (soft) times.soft_us[cpu] += *soft;
    times.seconds = std::max(times.seconds, seconds);
    times.source = source;
  }
  if (role == "softirq" && seconds > 0) add_softirq(table, row, machine);
  const std::string name = table.text(row, "device");
  if (name.empty()) return;
  Device& device = machine.devices[name];
  if (hard && seconds > 0) {
    device.hard_us += *hard;
    device.timed_seconds = std::max(device.timed_seconds, seconds);
    device.timed_count += count;
    device.time_source = source;
  }
  if (counts_again(source)) return;
  device.seconds = std::max(device.seconds, seconds);
  device.count += count;
  device.source = source;
  if (seconds > 0) {
    machine.rate_hz += count / seconds;
    machine.rate_source = source;
  }
  if (role != "queue") return;
  device.by_cpu[cpu] += count;
  device.queues.insert(table.text(row, "vector"));
}

// Over the CPUs that own a queue of the device.
void judge_balance(const Device& device, const std::string& scope, MetricSet& metrics) {
  std::vector<double> counts;
  double total = 0;
  for (const auto& [cpu, count] : device.by_cpu) {
    counts.push_back(count);
    total += count;
  }
  add_value(metrics, "irq.queues", scope, static_cast<double>(device.queues.size()), 1, device.source);
  if (counts.size() < 2 || total < kFewestInterrupts) return;
  const double busiest = *std::max_element(counts.begin(), counts.end()), middle = *median(counts);
  const auto n = static_cast<std::int64_t>(total);
  add_value(metrics, "irq.busiest_share_percent", scope, 100 * busiest / total, n, device.source);
  if (middle > 0) add_value(metrics, "irq.busiest_over_median", scope, busiest / middle, n, device.source);
}

void add_device(const std::string& name, const Device& device, MetricSet& metrics) {
  const std::string scope = "device:" + name;
  if (!device.source.empty() && device.seconds > 0)
    add_value(metrics, "irq.rate_hz", scope, device.count / device.seconds, static_cast<std::int64_t>(device.count),
              device.source);
  if (device.timed_seconds > 0)
    add_value(metrics, "irq.time_share_percent", scope, 1e-4 * device.hard_us / device.timed_seconds, 1,
              device.time_source);
  if (!device.source.empty()) judge_balance(device, scope, metrics);
}

// Of several machines the larger value.
void add_largest(const std::string& name, double value, const std::string& source, MetricSet& metrics) {
  if (const auto known = metrics.value(name, "all"); !known || *known < value)
    add_value(metrics, name, "all", value, 1, source);
}

void add_machine(const Machine& machine, MetricSet& metrics) {
  const auto busiest_percent = [](const std::map<double, double>& by_cpu, double seconds) {
    double most = 0;
    for (const auto& [cpu, us] : by_cpu) most = std::max(most, us);
    return 1e-4 * most / seconds;
  };
  if (!machine.rate_source.empty()) add_largest("irq.rate_hz", machine.rate_hz, machine.rate_source, metrics);
  const Times& hard = machine.timed.hard_us.empty() ? machine.sampled : machine.timed;
  const Times& soft = machine.timed.soft_us.empty() ? machine.sampled : machine.timed;
  if (!hard.hard_us.empty())
    add_largest("irq.time_share_percent", busiest_percent(hard.hard_us, hard.seconds), hard.source, metrics);
  if (!soft.soft_us.empty())
    add_largest("softirq.time_share_percent", busiest_percent(soft.soft_us, soft.seconds), soft.source, metrics);
  std::map<double, double> both;  // us in a second
  for (const auto& [cpu, us] : hard.hard_us) both[cpu] += us / hard.seconds;
  for (const auto& [cpu, us] : soft.soft_us) both[cpu] += us / soft.seconds;
  if (!both.empty()) add_largest("irq.busiest_cpu_percent", busiest_percent(both, 1), soft.source, metrics);
}

// "NET_RX takes 43 % of CPU 1: 194K runs/s of 2.2 µs"
void name_costliest_softirq(const std::map<std::string, Machine>& machines, Facts& facts) {
  double most = 0;
  for (const auto& [name, machine] : machines)
    for (const auto& [key, action] : machine.actions) {
      const double percent = 1e-4 * action.us / machine.timed.seconds;
      if (action.count < kFewestInterrupts || percent <= most) continue;
      most = percent;
      facts["softirq.costliest"] = key.first + " takes " + format_percent(percent) + " of CPU " +
                                   format_count(key.second) + (machines.size() > 1 ? " of " + name : "") + ": " +
                                   format_count(action.count / machine.timed.seconds) + " runs/s of " +
                                   format_seconds(1e-6 * action.us / action.count);
    }
}

// What comes over veth, loopback and tunnels raises no interrupt, and a driver that is busy polls.
void tell_silent_traffic(const std::map<std::string, Machine>& machines, Facts& facts) {
  double most = kManyRuns;
  for (const auto& [name, machine] : machines) {
    double all = 0;
    const std::pair<const double, double>* busiest = nullptr;
    for (const auto& one : machine.received) {
      all += one.second;
      if (busiest == nullptr || one.second > busiest->second) busiest = &one;
    }
    if (all < most || machine.rate_source.empty() || machine.rate_hz > kFewInterrupts * all) continue;
    most = all;
    facts["irq.silent_traffic"] =
        "NET_RX ran " + format_count(all) + " times/s, most often on CPU " + format_count(busiest->first) +
        ", while devices raised " + format_count(machine.rate_hz) +
        " interrupts/s: packets over veth, loopback and tunnels raise none, nor do those that "
        "a driver polls for. No interrupts is not no traffic";
  }
}

// "virtio1 takes 3.1 % of a CPU: 12.4k interrupts/s of 2.5 µs": of the device whose handlers took most time.
void name_costliest(const std::vector<std::pair<std::string, const Device*>>& devices, Facts& facts) {
  const auto share = [](const Device& device) {
    return device.timed_seconds > 0 ? device.hard_us / device.timed_seconds : 0;
  };
  const auto most = std::max_element(devices.begin(), devices.end(),
                                     [&](const auto& a, const auto& b) { return share(*a.second) < share(*b.second); });
  if (most == devices.end() || most->second->timed_count < kFewestInterrupts) return;
  const Device& device = *most->second;
  facts["irq.costliest"] = most->first + " takes " + format_percent(1e-4 * share(device)) +
                           " of a CPU: " + format_count(device.timed_count / device.timed_seconds) +
                           " interrupts/s of " + format_seconds(1e-6 * device.hard_us / device.timed_count);
}

// "CPU 3 serves 61 % of eth0's 12.4M interrupts": of the device with most of them.
void name_busiest(const std::vector<std::pair<std::string, const Device*>>& devices, Facts& facts) {
  for (const auto& [name, device] : devices) {
    double total = 0;
    for (const auto& [cpu, count] : device->by_cpu) total += count;
    if (total < kFewestInterrupts) continue;
    const auto busiest = std::max_element(device->by_cpu.begin(), device->by_cpu.end(),
                                          [](const auto& a, const auto& b) { return a.second < b.second; });
    facts["irq.busiest"] = "CPU " + format_count(busiest->first) + " serves " +
                           format_percent(100 * busiest->second / total) + " of the " + format_count(total) +
                           " interrupts of " + name + ", whose queues are on " +
                           format_count(static_cast<double>(device->by_cpu.size())) + " CPUs";
    return;
  }
}

void add_softnet(const Inputs& inputs, MetricSet& metrics, Facts& facts) {
  const auto series = inputs.series.find("softnet");
  if (series == inputs.series.end()) return;
  const SeriesTable table(series->second);
  std::map<std::string, std::pair<double, double>> by_machine;  // dropped, squeezed, per second
  double most = 0;
  for (const auto& row : table.rows()) {
    const double seconds = table.number(row, "interval_s").value_or(0);
    if (seconds <= 0) continue;
    auto& [dropped, squeezed] = by_machine[table.text(row, "machine")];
    const double here = table.number(row, "dropped").value_or(0) / seconds;
    dropped += here;
    if (here > most)
      facts["softnet.drops"] = "CPU " + format_count(table.number(row, "cpu").value_or(-1)) + " dropped " +
                               format_count(here) + " packets/s because its backlog was full";
    most = std::max(most, here);
    squeezed += table.number(row, "squeezed").value_or(0) / seconds;
  }
  for (const auto& [machine, rates] : by_machine) {
    add_largest("softnet.dropped_per_s", rates.first, "/proc/net/softnet_stat", metrics);
    add_largest("softnet.squeezed_per_s", rates.second, "/proc/net/softnet_stat", metrics);
  }
}

class IrqPressureAnalyzer final : public Analyzer {
 public:
  std::string_view name() const override { return "irq_pressure"; }
  void summarise(const RankTimeline&, const Inputs&, Summary&) const override {}

  void conclude(const Summary&, const Inputs& inputs, Conclusions& conclusions) const override {
    add_softnet(inputs, conclusions.metrics, conclusions.facts);
    const auto series = inputs.series.find("irq");
    if (series == inputs.series.end()) return;
    const SeriesTable table(series->second);
    std::map<std::string, Machine> machines;
    for (const auto& row : table.rows()) add_row(table, row, machines[table.text(row, "machine")]);

    std::vector<std::pair<std::string, const Device*>> devices;
    for (const auto& [machine, seen] : machines)
      for (const auto& [name, device] : seen.devices)
        devices.emplace_back(machines.size() > 1 ? machine + "/" + name : name, &device);
    std::stable_sort(devices.begin(), devices.end(),
                     [](const auto& a, const auto& b) { return a.second->count > b.second->count; });
    devices.resize(std::min(devices.size(), kMostDevices));
    for (const auto& [name, device] : devices) add_device(name, *device, conclusions.metrics);
    for (const auto& [name, machine] : machines) add_machine(machine, conclusions.metrics);
    name_costliest(devices, conclusions.facts);
    name_busiest(devices, conclusions.facts);
    name_costliest_softirq(machines, conclusions.facts);
    tell_silent_traffic(machines, conclusions.facts);
  }
};

}  // namespace

std::unique_ptr<Analyzer> make_irq_pressure() { return std::make_unique<IrqPressureAnalyzer>(); }

}  // namespace gradsync
