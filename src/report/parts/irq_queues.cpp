#include "src/report/parts/irq_queues.h"

#include <algorithm>
#include <tuple>

#include "src/model/series_table.h"

namespace gradsync {
namespace {

constexpr int kWidestCell = 3;

void add_targets(const Report& report, const CpuBins& bins, std::map<std::string, IrqQueue>& queues) {
  const std::vector<SeriesRow> plan = rows_of(report, "irq_plan");
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const auto queue = queues.find(plan[i].text("irq") + " " + plan[i].text("vector"));
    if (queue == queues.end()) continue;
    const auto bin_of = [&](const char* column) {
      const auto bin = bins.of_cpu.find(static_cast<int>(plan[i].number(column).value_or(-1)));
      return bin == bins.of_cpu.end() ? -1 : bin->second;
    };
    queue->second.serving = bin_of("from");
    if (plan[i].text("decision") == "move") queue->second.target = bin_of("to");
  }
}

}  // namespace

CpuBins bins_of(const Report& report, int columns) {
  const std::vector<SeriesRow> rows = rows_of(report, "irq_cpus");
  std::vector<std::tuple<int, int, bool>> cpus;  // node, CPU, training
  for (std::size_t i = 0; i < rows.size(); ++i)
    cpus.emplace_back(static_cast<int>(rows[i].number("node").value_or(0)),
                      static_cast<int>(rows[i].number("cpu").value_or(0)), rows[i].number("training").value_or(0) > 0);
  std::sort(cpus.begin(), cpus.end());
  CpuBins bins;
  if (cpus.empty() || columns < 1) return bins;
  const std::size_t each = (cpus.size() + static_cast<std::size_t>(columns) - 1) / static_cast<std::size_t>(columns);
  for (std::size_t i = 0; i < cpus.size(); ++i) {
    const auto& [node, cpu, training] = cpus[i];
    if (i % each == 0) {
      bins.node_begins.push_back(bins.node.empty() || bins.node.back() != node);
      bins.node.push_back(node);
      bins.first_cpu.push_back(cpu);
      bins.training.push_back(false);
    }
    bins.of_cpu[cpu] = static_cast<int>(bins.node.size()) - 1;
    if (training) bins.training.back() = true;
  }
  bins.cell = std::clamp(columns / static_cast<int>(bins.node.size()), 1, kWidestCell);
  return bins;
}

std::vector<IrqQueue> queues_of(const Report& report, const CpuBins& bins, std::size_t most, std::size_t& left_out) {
  const std::vector<SeriesRow> rows = rows_of(report, "irq");
  std::map<std::string, IrqQueue> queues;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].text("role") != "queue") continue;
    const auto bin = bins.of_cpu.find(static_cast<int>(rows[i].number("cpu").value_or(-1)));
    const double seconds = rows[i].number("interval_s").value_or(0);
    IrqQueue& queue = queues[rows[i].text("irq") + " " + rows[i].text("vector")];
    queue.irq = rows[i].text("irq");
    queue.vector = rows[i].text("vector");
    queue.device = rows[i].text("device");
    if (bin == bins.of_cpu.end() || seconds <= 0) continue;
    if (rows[i].number("hard_us")) continue;  // timed handlers: /proc/interrupts counts the same beside it
    const double rate = rows[i].number("count").value_or(0) / seconds;
    queue.rate[bin->second] += rate;
    queue.total += rate;
  }
  add_targets(report, bins, queues);
  std::vector<IrqQueue> list;
  for (auto& [key, queue] : queues) list.push_back(std::move(queue));
  std::stable_sort(list.begin(), list.end(), [](const IrqQueue& a, const IrqQueue& b) {
    return std::tuple(a.target < 0, -a.total) < std::tuple(b.target < 0, -b.total);
  });
  left_out = list.size() - std::min(list.size(), most);
  list.resize(list.size() - left_out);
  std::sort(list.begin(), list.end(), [](const IrqQueue& a, const IrqQueue& b) {
    return std::tuple(a.device, a.irq.size(), a.irq, a.vector) < std::tuple(b.device, b.irq.size(), b.irq, b.vector);
  });
  return list;
}

}  // namespace gradsync
