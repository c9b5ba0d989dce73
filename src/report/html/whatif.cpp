// What each remedy would save: intervals from p05 to p95 on one axis, and the same in words.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/base/text.h"
#include "src/base/units.h"
#include "src/model/series_table.h"
#include "src/report/html/parts.h"
#include "src/report/html/plot.h"
#include "src/report/html/table.h"
#include "src/report/parts/parts.h"
#include "src/report/parts/words.h"

namespace gradsync {
namespace {

constexpr double kRow = 24, kLabels = 170;

struct Remedy {
  std::string name, words;
  double low, middle, high;
  bool bound;
};

std::vector<Remedy> remedies_of(const std::vector<SeriesRow>& rows) {
  std::vector<Remedy> remedies;
  for (const SeriesRow& row : rows) {
    const auto middle = row.number("p50");
    if (!middle || !std::isfinite(*middle)) continue;
    const bool bound = row.text("kind") == "bound";
    remedies.push_back({row.text("remedy"), remedy_saving(row), row.number("p05").value_or(bound ? 0 : *middle),
                        *middle, row.number("p95").value_or(*middle), bound});
  }
  return remedies;
}

void draw_intervals(const std::vector<Remedy>& remedies, Markup& page) {
  if (remedies.empty()) return;
  double low = 0, high = 0;
  for (const Remedy& remedy : remedies) {
    low = std::min({low, remedy.low, remedy.middle});
    high = std::max({high, remedy.high, remedy.middle});
  }
  Plot plot(page,
            {"What each remedy would save, per step",
             fmt::format("the first of {}: {} {}", remedies.size(), remedies.front().name, remedies.front().words),
             "Left of 0 a step would become longer."},
            {ScaleKind::linear, low, high, "ms saved per step", [](double value) { return format_short(value); }},
            {ScaleKind::linear, 0, 1, "", {}},
            {900, kRow * static_cast<double>(remedies.size()) + 60, kLabels, 24, 12, 44});
  plot.path("axis", move_to(plot.x(0), plot.top()) + line_to(plot.x(0), plot.floor()));
  double y = plot.top() + kRow / 2;
  for (const Remedy& remedy : remedies) {
    plot.word(kLabels - 8, y + 4, shorten(escape_controls(remedy.name), 26, "…"), "end");
    const std::string line = move_to(plot.x(remedy.low), y) + line_to(plot.x(remedy.high), y);
    plot.path(remedy.bound ? "fit" : "range", line, remedy.name + ": " + remedy.words);
    if (!remedy.bound) plot.dot("p1", plot.x(remedy.middle), y, remedy.name + ": " + remedy.words);
    y += kRow;
  }
  plot.finish({{"p0", "p05 to p95"}, {"p1", "median; dashed: at most"}});
}

}  // namespace

void write_whatif(const Report& report, Markup& page) {
  const std::vector<SeriesRow> rows = rows_of(report, "whatif");
  draw_intervals(remedies_of(rows), page);
  if (!rows.empty()) {
    Table table(page, "Remedies, best first", {{"remedy"}, {"saves"}, {"worth trying"}, {"needs", ColumnKind::prose}});
    for (const SeriesRow& row : rows)
      table.row({row.text("remedy"), remedy_saving(row), row.text("worth_trying"),
                 row.text("needs") + hint_text(row.text("hint"))});
    table.finish();
  }
  if (const std::string all = together_text(report); !all.empty()) page.element("p", {{"class", "good"}}, all);
  if (const auto record = report.facts.find("whatif.record"); record != report.facts.end())
    page.element("p", {{"class", "faint"}}, "intervals: " + record->second);
  if (const auto buckets = report.series.find("bucket_plan"); buckets != report.series.end())
    draw_series_table(page, buckets->second, "Each bucket on this fabric",
                      {"bucket", "bytes", "method", "coding_ms", "transfer_ms", "dense_transfer_ms", "ready_ms"});
}

}  // namespace gradsync
