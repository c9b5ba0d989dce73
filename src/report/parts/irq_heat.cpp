// Where the interrupts of queues come: a row for each queue, a column for each CPU or, on machines with more CPUs than
// columns, for some of them. CPUs stand by NUMA node.
//
//                         node 0  node 1
//                         0   4   8   12
//   training                  TTTT              CPUs on which threads of the training may run, and not on all
//   40 eth0-TxRx-0        █···▹·······    12.4k/s    ▹ where the plan would move it
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "src/base/text.h"
#include "src/base/units.h"
#include "src/model/series_table.h"
#include "src/report/parts/irq_queues.h"
#include "src/report/parts/parts.h"
#include "src/report/parts/words.h"

namespace gradsync {
namespace {

constexpr std::size_t kMostRows = 24;  // -v shows them all
constexpr int kRateColumns = 9, kIndent = 2;

// Numbers above the cells they stand for, as many as have room.
std::string ruler(const CpuBins& bins, const std::vector<std::string>& words) {
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
  HeatMap(const CpuBins& bins, int label, double most, Canvas& canvas)
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

  void draw(const IrqQueue& queue) {
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

  void draw_cell(const IrqQueue& queue, int bin) {
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

  const CpuBins& bins_;
  int label_;
  double most_;
  bool ascii_;
  Canvas& canvas_;
};

}  // namespace

void draw_irq_heat(const Report& report, Canvas& canvas) {
  const int label = canvas.narrow() ? 14 : 26;
  const CpuBins bins = bins_of(report, canvas.width() - kIndent - label - kRateColumns - 3);
  const bool all = canvas.options().verbosity == Verbosity::verbose;
  std::size_t left_out = 0;
  const std::vector<IrqQueue> queues = queues_of(report, bins, all ? SIZE_MAX : kMostRows, left_out);
  if (queues.empty() || bins.node.empty()) return;
  double most = 0;
  for (const IrqQueue& queue : queues)
    for (const auto& [bin, rate] : queue.rate) most = std::max(most, rate);
  canvas.start(0, 2);
  canvas.piece("INTERRUPTS OF QUEUES", Paint::strong);
  const std::size_t each = (bins.of_cpu.size() + bins.node.size() - 1) / bins.node.size();
  if (each > 1) canvas.piece(fmt::format("a column is {} CPUs", each), Paint::faint);
  HeatMap map(bins, label, most, canvas);
  map.draw_rulers();
  for (const IrqQueue& queue : queues) map.draw(queue);
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
