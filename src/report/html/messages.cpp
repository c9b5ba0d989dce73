// The collectives of a step by size: how long those of each power of two take, and how much of it nothing hides.
#include <fmt/format.h>

#include <cmath>
#include <map>

#include "src/base/units.h"
#include "src/model/series_table.h"
#include "src/report/html/parts.h"
#include "src/report/html/plot.h"
#include "src/report/html/table.h"
#include "src/report/parts/words.h"

namespace gradsync {
namespace {

struct Bin {
  double count = 0, total_ms = 0, exposed_ms = 0;
};

std::map<int, Bin> bins_of(const std::vector<SeriesRow>& rows) {
  std::map<int, Bin> bins;
  for (const SeriesRow& row : rows) {
    const double bytes = row.number("bytes").value_or(0);
    if (!(bytes > 0)) continue;
    Bin& bin = bins[static_cast<int>(std::floor(std::log2(bytes)))];
    bin.count += row.number("count_per_step").value_or(0);
    bin.total_ms += row.number("total_ms").value_or(0);
    bin.exposed_ms += row.number("exposed_ms").value_or(0);
  }
  return bins;
}

void draw_histogram(const std::map<int, Bin>& bins, Markup& page) {
  double most = 0, count = 0;
  for (const auto& [power, bin] : bins) {
    most = std::max(most, bin.total_ms);
    count += bin.count;
  }
  if (most <= 0) return;
  const double low = std::exp2(bins.begin()->first - 1), high = std::exp2(bins.rbegin()->first + 2);
  Plot plot(page,
            {"Messages by size",
             fmt::format("{} collectives per step between {} and {}", format_short(count), format_bytes(low),
                         format_bytes(high)),
             "A bar is a power of two of bytes. Those that overlap each other are counted each."},
            {ScaleKind::sizes, low, high, "bytes of a message", format_bytes},
            {ScaleKind::linear, 0, most, "", [](double value) { return format_short(value) + " ms"; }});
  for (const auto& [power, bin] : bins) {
    const double left = plot.x(std::exp2(power)) + 2, width = plot.x(std::exp2(power + 1)) - left - 2;
    const std::string tip =
        fmt::format("{} per step from {}: {} in all, {} exposed", format_short(bin.count),
                    format_bytes(std::exp2(power)), format_ms(bin.total_ms), format_ms(bin.exposed_ms));
    plot.box("p0", left, plot.y(bin.total_ms), width, plot.floor() - plot.y(bin.total_ms), tip);
    if (bin.exposed_ms > 0)
      plot.box("p1", left, plot.y(bin.exposed_ms), width, plot.floor() - plot.y(bin.exposed_ms), tip);
    plot.word(left + width / 2, plot.y(bin.total_ms) - 3, "× " + format_short(bin.count), "mid");
  }
  plot.finish({{"p0", "time per step"}, {"p1", "of it with no compute beside it"}});
}

}  // namespace

void write_messages(const Report& report, Markup& page) {
  const auto series = report.series.find("messages");
  if (series == report.series.end()) return;
  const std::map<int, Bin> bins = bins_of(rows_of(series->second));
  if (bins.empty()) return;
  draw_histogram(bins, page);
  page.open("details");
  page.element("summary", {}, "Messages as a table");
  draw_series_table(page, series->second, "Messages per step",
                    {"group", "op", "bytes", "count_per_step", "total_ms", "exposed_ms"});
  page.close();
}

}  // namespace gradsync
