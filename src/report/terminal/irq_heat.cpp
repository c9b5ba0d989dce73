// Where the interrupts of queues come: a row for each queue, a column for each CPU or, on machines with more CPUs than
// columns, for some of them. CPUs stand by NUMA node.
//
//                         node 0  node 1
//                         0   4   8   12
//   training                  TTTT              CPUs on which threads of the training may run, and not on all
//   40 eth0-TxRx-0        █···▹·······    12.4k/s    ▹ where the plan would move it
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "src/base/text.h"
#include "src/base/units.h"
#include "src/model/series_table.h"
#include "src/report/terminal/parts.h"
#include "src/report/terminal/words.h"

namespace gradsync {
namespace {

constexpr std::size_t kMostRows = 24;  // -v shows them all
constexpr int kRateColumns = 9, kIndent = 2, kWidestCell = 3;

struct Queue {
  std::string irq, vector, device;
  std::map<int, double> rate;  // by bin
  double total = 0;
  int serving = -1, target = -1;  // bins
};

struct Bins {
  std::vector<int> first_cpu, node;
  std::vector<bool> node_begins, training;
  std::map<int, int> of_cpu;
  int cell = 1;  // columns
};

Bins bins_of(const Report& report, int columns) {
  const std::vector<SeriesRow> rows = rows_of(report, "irq_cpus");
  std::vector<std::tuple<int, int, bool>> cpus;  // node, CPU, training
  for (std::size_t i = 0; i < rows.size(); ++i)
    cpus.emplace_back(static_cast<int>(rows[i].number("node").value_or(0)),
                      static_cast<int>(rows[i].number("cpu").value_or(0)), rows[i].number("training").value_or(0) > 0);
  std::sort(cpus.begin(), cpus.end());
  Bins bins;
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

void add_targets(const Report& report, const Bins& bins, std::map<std::string, Queue>& queues) {
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

// The busiest queues, in the order of devices and numbers.
std::vector<Queue> queues_of(const Report& report, const Bins& bins, std::size_t most, std::size_t& left_out) {
  const std::vector<SeriesRow> rows = rows_of(report, "irq");
  std::map<std::string, Queue> queues;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].text("role") != "queue") continue;
    const auto bin = bins.of_cpu.find(static_cast<int>(rows[i].number("cpu").value_or(-1)));
    const double seconds = rows[i].number("interval_s").value_or(0);
    Queue& queue = queues[rows[i].text("irq") + " " + rows[i].text("vector")];
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
  std::vector<Queue> list;
  for (auto& [key, queue] : queues) list.push_back(std::move(queue));
  std::stable_sort(list.begin(), list.end(), [](const Queue& a, const Queue& b) {
    return std::tuple(a.target < 0, -a.total) < std::tuple(b.target < 0, -b.total);
  });
  left_out = list.size() - std::min(list.size(), most);
  list.resize(list.size() - left_out);
  std::sort(list.begin(), list.end(), [](const Queue& a, const Queue& b) {
    return std::tuple(a.device, a.irq.size(), a.irq, a.vector) < std::tuple(b.device, b.irq.size(), b.irq, b.vector);
  });
  return list;
}

// Numbers above the cells they stand for, as many as have room.
std::string ruler(const Bins& bins, const std::vector<std::string>& words) {
  std::string line;
  for (std::size_t bin = 0; bin < words.size(); ++bin) {
    const std::size_t at = bin * static_cast<std::size_t>(bins.cell);
    if (words[bin].empty() || (!line.empty() && line.size() + 1 > at)) continue;
    line.append(at - line.size(), ' ').append(words[bin]);
  }
  return line;
}

class HeatMap {
 public:
  HeatMap(const Bins& bins, int label, double most, Canvas& canvas)
      : bins_(bins), label_(label), most_(most), ascii_(canvas.options().charset == Charset::ascii), canvas_(canvas) {}

  void draw_rulers() {
    std::vector<std::string> nodes, cpus;
    std::set<int> distinct(bins_.node.begin(), bins_.node.end());
    for (std::size_t bin = 0; bin < bins_.node.size(); ++bin) {
      nodes.push_back(bins_.node_begins[bin] ? fmt::format("node {}", bins_.node[bin]) : "");
      const std::size_t step = static_cast<std::size_t>(std::max(1, 4 / bins_.cell));
      cpus.push_back(bin % step == 0 ? std::to_string(bins_.first_cpu[bin]) : "");
    }
    if (distinct.size() > 1) draw_ruler("", ruler(bins_, nodes));
    draw_ruler("CPU", ruler(bins_, cpus));
    if (std::find(bins_.training.begin(), bins_.training.end(), true) == bins_.training.end()) return;
    std::vector<std::string> marks;
    std::string line;
    for (const bool training : bins_.training) line.append(static_cast<std::size_t>(bins_.cell), training ? 'T' : ' ');
    draw_ruler("training", line.substr(0, line.find_last_not_of(' ') + 1));
  }

  void draw(const Queue& queue) {
    canvas_.start(kIndent, kIndent);
    canvas_.piece(no_break(shorten(queue.irq + " " + queue.vector.substr(0, queue.vector.find("@pci:")), label_ - 1,
                                   ascii_ ? "..." : "…")));
    canvas_.tab(kIndent + label_);
    for (int bin = 0; bin < static_cast<int>(bins_.node.size()); ++bin) draw_cell(queue, bin);
    canvas_.right(no_break(format_count(queue.total) + "/s"));
  }

 private:
  void draw_ruler(std::string_view label, const std::string& line) {
    canvas_.start(kIndent, kIndent);
    canvas_.piece(label, Paint::faint);
    canvas_.tab(kIndent + label_);
    std::string fixed;
    for (const char c : line)
      if (c == ' ')
        fixed += kNoBreak;
      else
        fixed += c;
    canvas_.piece(fixed, Paint::faint);
  }

  void draw_cell(const Queue& queue, int bin) {
    static constexpr const char* kShades[] = {"░", "▒", "▓", "█"};
    static constexpr const char* kAsciiShades[] = {"-", "+", "*", "#"};
    const auto found = queue.rate.find(bin);
    const double rate = found == queue.rate.end() ? 0 : found->second;
    const char* mark = ascii_ ? "." : "·";
    Paint paint = Paint::faint;
    if (rate > 0 && most_ > 0) {
      const int level = std::clamp(static_cast<int>(4 * rate / most_), 0, 3);
      mark = ascii_ ? kAsciiShades[level] : kShades[level];
      paint = bins_.training[static_cast<std::size_t>(bin)] ? Paint::bad : Paint::plain;
    } else if (queue.target == bin) {
      mark = ascii_ ? ">" : "▹";
      paint = Paint::good;
    } else if (queue.serving == bin) {
      mark = ascii_ ? "o" : "○";
    }
    std::string cell;
    for (int i = 0; i < bins_.cell; ++i) cell += mark;
    canvas_.piece(cell, paint, 0);
  }

  const Bins& bins_;
  int label_;
  double most_;
  bool ascii_;
  Canvas& canvas_;
};

}  // namespace

void draw_irq_heat(const Report& report, Canvas& canvas) {
  const int label = canvas.narrow() ? 14 : 26;
  const Bins bins = bins_of(report, canvas.width() - kIndent - label - kRateColumns - 3);
  const bool all = canvas.options().verbosity == Verbosity::verbose;
  std::size_t left_out = 0;
  const std::vector<Queue> queues = queues_of(report, bins, all ? SIZE_MAX : kMostRows, left_out);
  if (queues.empty() || bins.node.empty()) return;
  double most = 0;
  for (const Queue& queue : queues)
    for (const auto& [bin, rate] : queue.rate) most = std::max(most, rate);
  canvas.start(0, 2);
  canvas.piece("INTERRUPTS OF QUEUES", Paint::strong);
  const std::size_t each = (bins.of_cpu.size() + bins.node.size() - 1) / bins.node.size();
  if (each > 1) canvas.piece(fmt::format("a column is {} CPUs", each), Paint::faint);
  HeatMap map(bins, label, most, canvas);
  map.draw_rulers();
  for (const Queue& queue : queues) map.draw(queue);
  canvas.start(kIndent, kIndent);
  const bool ascii = canvas.options().charset == Charset::ascii;
  if (most > 0)
    canvas.prose(fmt::format("{} a quarter, half, three quarters, all of {}/s;", ascii ? "- + * #" : "░ ▒ ▓ █",
                             format_count(most)),
                 Paint::faint);
  canvas.prose(ascii ? "o serves it, and none came; > planned" : "○ serves it, and none came; ▹ planned", Paint::faint);
  if (left_out > 0)
    canvas.prose("and " + plural(static_cast<std::int64_t>(left_out), "queue") + " more: -v shows them", Paint::faint);
}

}  // namespace gradsync
