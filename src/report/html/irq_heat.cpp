// Where the interrupts of queues come: a row for each queue, a column for each CPU or, on machines with very many, for
// some of them; the fuller a cell, the more interrupts. A ring: the plan would move it there.
#include <fmt/format.h>

#include <algorithm>

#include "src/base/text.h"
#include "src/base/units.h"
#include "src/model/series_table.h"
#include "src/report/html/parts.h"
#include "src/report/html/plot.h"
#include "src/report/html/table.h"
#include "src/report/parts/irq_queues.h"
#include "src/report/parts/words.h"

namespace gradsync {
namespace {

constexpr int kMostColumns = 128;
constexpr std::size_t kMostQueues = 128;
constexpr double kCell = 18, kLabels = 210, kWidest = 24, kRates = 80, kWidth = 900;

std::string label_of(const IrqQueue& queue) {
  return shorten(escape_controls(queue.irq + " " + queue.vector.substr(0, queue.vector.find("@pci:"))), 32, "…");
}

void draw_rulers(const CpuBins& bins, double cell, Plot& plot) {
  const std::size_t each = cell >= 18 ? 1 : 4;
  for (std::size_t bin = 0; bin < bins.node.size(); ++bin) {
    const double x = kLabels + cell * static_cast<double>(bin);
    if (bins.node_begins[bin]) plot.word(x, plot.top() - 18, fmt::format("node {}", bins.node[bin]));
    if (bin % each == 0) plot.word(x + cell / 2, plot.top() - 4, std::to_string(bins.first_cpu[bin]), "mid");
    if (bins.training[bin]) plot.box("p1", x, plot.floor() + 4, cell - 1, 6, "the training runs here");
  }
}

void draw_queue(const IrqQueue& queue, double y, double cell, double most, const CpuBins& bins, Plot& plot) {
  plot.word(kLabels - 6, y + kCell / 2 + 4, label_of(queue), "end");
  for (const auto& [bin, rate] : queue.rate) {
    if (rate <= 0 || most <= 0) continue;
    const int level = std::clamp(static_cast<int>(4 * rate / most), 0, 3) + 1;
    plot.box(fmt::format("h{}", level), kLabels + cell * bin, y + 1, cell - 1, kCell - 2,
             fmt::format("{} on CPU {}: {}/s", label_of(queue), bins.first_cpu[static_cast<std::size_t>(bin)],
                         format_count(rate)));
  }
  if (queue.serving >= 0 && !queue.rate.contains(queue.serving))
    plot.box("alone", kLabels + cell * queue.serving, y + 1, cell - 1, kCell - 2, "serves it, and none came");
  if (queue.target >= 0) plot.box("hit", kLabels + cell * queue.target, y + 1, cell - 1, kCell - 2, "planned");
  plot.word(plot.right() + 4, y + kCell / 2 + 4, format_count(queue.total) + "/s");
}

std::string caption_of(const CpuBins& bins, double most, std::size_t left_out) {
  const std::size_t each = (bins.of_cpu.size() + bins.node.size() - 1) / bins.node.size();
  std::string text = "Numbers above are CPUs" + (each > 1 ? fmt::format(", a column is {} of them", each) : "") + ".";
  if (most > 0) text += " The darkest is " + format_count(most) + "/s.";
  if (left_out > 0) text += " " + plural(static_cast<std::int64_t>(left_out), "queue") + " more are not drawn.";
  return text;
}

void write_table(const std::vector<IrqQueue>& queues, const CpuBins& bins, Markup& page) {
  page.open("details");
  page.element("summary", {}, "Interrupts of queues as a table");
  Table table(page, "Interrupts of queues",
              {{"queue"}, {"device"}, {"CPU", ColumnKind::number}, {"per second", ColumnKind::number}});
  for (const IrqQueue& queue : queues)
    for (const auto& [bin, rate] : queue.rate)
      if (rate > 0)
        table.row({queue.irq + " " + queue.vector, queue.device,
                   std::to_string(bins.first_cpu[static_cast<std::size_t>(bin)]), format_count(rate)},
                  {"", "", "", fmt::format("{}", rate)});
  table.finish();
  page.close();
}

}  // namespace

void write_irq_heat(const Report& report, Markup& page) {
  const CpuBins bins = bins_of(report, kMostColumns);
  std::size_t left_out = 0;
  const std::vector<IrqQueue> queues = queues_of(report, bins, kMostQueues, left_out);
  if (queues.empty() || bins.node.empty()) return;
  double most = 0;
  for (const IrqQueue& queue : queues)
    for (const auto& [bin, rate] : queue.rate) most = std::max(most, rate);
  const auto columns = static_cast<double>(bins.node.size());
  const double cell = std::clamp(640 / columns, 6.0, kWidest), end = kLabels + cell * columns,
               width = std::max(kWidth, end + kRates);
  Plot plot(
      page,
      {"Interrupts of queues",
       fmt::format("{} on {} CPUs, at most {}/s on one", plural(static_cast<std::int64_t>(queues.size()), "queue"),
                   bins.of_cpu.size(), format_count(most)),
       caption_of(bins, most, left_out)},
      {ScaleKind::linear, 0, columns, "", {}}, {ScaleKind::linear, 0, 1, "", {}},
      {width, kCell * static_cast<double>(queues.size()) + 60, kLabels, width - end, 36, 24});
  draw_rulers(bins, cell, plot);
  double y = plot.top();
  for (const IrqQueue& queue : queues) {
    draw_queue(queue, y, cell, most, bins, plot);
    y += kCell;
  }
  plot.finish({{"h1", "up to a quarter of the most"},
               {"h2", "half"},
               {"h3", "three quarters"},
               {"h4", "more"},
               {"hit", "planned"},
               {"p1", "below: CPUs of the training"}});
  write_table(queues, bins, page);
}

}  // namespace gradsync
