// The classes of the median step: a stacked bar, and the same numbers with their spread as a table; those of each rank as a table alone.
#include <fmt/format.h>

#include <algorithm>

#include "src/base/units.h"
#include "src/report/html/parts.h"
#include "src/report/html/plot.h"
#include "src/report/html/table.h"
#include "src/report/parts/step_parts.h"
#include "src/report/parts/words.h"

namespace gradsync {
namespace {

constexpr std::size_t kMostRanks = 256;
constexpr double kWordRoom = 7.6;  // width of a character in a segment of the bar

struct Segment {
  std::string name, label, text;
  double value = 0;
};

// The bar shows parts of communication one by one, and compute as a whole.
std::vector<Segment> segments_of(const StepSplit& split) {
  std::vector<Segment> segments;
  for (const StepPart& item : split.items) {
    const bool in_parts = item.name == "comm" && !item.inner.empty();
    for (const StepPart& part : in_parts ? item.inner : std::vector<StepPart>{item})
      segments.push_back({part.name, part.label, number_text(part, split.digits), part.value});
  }
  return segments;
}

std::string unit_of_bar(const StepSplit& split) { return split.digits.unit.empty() ? " ms" : ""; }

void draw_bar(const Report& report, const Attribution& attribution, const StepSplit& split, Markup& page) {
  const std::vector<Segment> segments = segments_of(split);
  const std::string unit = unit_of_bar(split);
  std::string description;
  for (const Segment& segment : segments)
    description += (description.empty() ? "" : ", ") + segment.label + " " + segment.text + unit;
  const Metric* time = metric_in(report, "step.time_ms", attribution.scope);
  std::string title = step_label(attribution);
  if (time != nullptr) title += " " + format_ms(time->value) + " " + spread_text(*time);
  Plot plot(page, {title, description, inflation_text(report, attribution)},
            {ScaleKind::linear, 0, split.total, "", [&](double value) { return format_short(value) + unit; }}, {},
            {900, 84, 20, 28, 4, 36});
  double sum = 0;
  for (const Segment& segment : segments) {
    const double left = plot.x(sum), right = plot.x(sum += segment.value);
    const std::string text = segment.label + " " + segment.text;
    plot.box(style_of_class(segment.name), left, plot.top(), right - left, plot.floor() - plot.top(), text + unit);
    if (right - left > kWordRoom * static_cast<double>(text.size()))
      plot.word((left + right) / 2, (plot.top() + plot.floor()) / 2 + 4, text, "on");
  }
  plot.finish();
}

std::string optional_ms(const std::optional<double>& value) { return value ? format_decimal(*value) : ""; }

bool has_spread(const Report& report, const std::string& scope) {
  return std::any_of(report.metrics.begin(), report.metrics.end(), [&](const Metric& metric) {
    return metric.scope == scope && metric.p10 && metric.name.starts_with("attribution.");
  });
}

// Quantiles of the class's own metric: they are over steps and do not add up.
void add_row(const Report& report, const Attribution& attribution, const StepPart& part, const std::string& metric,
             const StepSplit& split, const std::string& indent, Table& table) {
  const Metric* of = metric_in(report, metric, attribution.scope);
  std::vector<std::string> cells{indent + part.label, number_text(part, split.digits)};
  if (!has_spread(report, attribution.scope)) return table.row(cells, style_of_class(part.name));
  const bool known = of != nullptr && !attribution.shares_only;
  cells.push_back(known ? optional_ms(of->p10) : "");
  cells.push_back(known ? optional_ms(of->p90) : "");
  cells.push_back(of != nullptr ? format_count(static_cast<double>(of->n)) : "");
  table.row(cells, style_of_class(part.name));
}

void draw_table(const Report& report, const Attribution& attribution, const StepSplit& split, Markup& page) {
  const bool shares = attribution.shares_only;
  std::vector<TableColumn> columns{{"class"}, {shares ? "share" : "ms", ColumnKind::number}};
  if (has_spread(report, attribution.scope))
    for (const char* heading : {"p10", "p90", "n"}) columns.push_back({heading, ColumnKind::number});
  Table table(page, (shares ? "Shares of the " : "Parts of the ") + step_label(attribution), columns);
  for (const StepPart& item : split.items) {
    if (item.name == "comm") {
      for (const StepPart& part : item.inner)
        add_row(report, attribution, part, "attribution." + part.name + "_ms", split, "comm: ", table);
      continue;
    }
    add_row(report, attribution, item, "attribution." + item.name + "_ms", split, "", table);
    for (const StepPart& phase : item.inner) {
      StepPart named = phase;
      named.name = phase.name.substr(phase.name.find('.') + 1, phase.name.rfind('_') - phase.name.find('.') - 1);
      add_row(report, attribution, named, phase.name, split, "of it ", table);
    }
  }
  table.finish();
}

void write_scope(const Report& report, const Attribution& attribution, Markup& page) {
  const auto split = step_split(report, attribution);
  if (!split) return;
  draw_bar(report, attribution, *split, page);
  draw_table(report, attribution, *split, page);
}

// A row for each rank, a column for each class that one of them has.
void write_ranks(const Report& report, const std::vector<const Attribution*>& ranks, Markup& page) {
  std::vector<TableColumn> columns{{""}, {"step", ColumnKind::number}};
  std::vector<std::string> names;
  std::vector<std::optional<StepSplit>> splits;
  for (const Attribution* rank : ranks) {
    splits.push_back(step_split(report, *rank));
    if (!splits.back()) continue;
    for (const Segment& segment : segments_of(*splits.back()))
      if (std::find(names.begin(), names.end(), segment.name) == names.end()) {
        names.push_back(segment.name);
        columns.push_back({segment.label, ColumnKind::number});
      }
  }
  Table table(page, "Each rank", columns);
  for (std::size_t i = 0; i < std::min(ranks.size(), kMostRanks); ++i) {
    const Metric* time = metric_in(report, "step.time_ms", ranks[i]->scope);
    std::vector<std::string> cells{step_label(*ranks[i]), time != nullptr ? format_ms(time->value) : ""};
    cells.resize(columns.size());
    if (splits[i])
      for (const Segment& segment : segments_of(*splits[i]))
        cells[static_cast<std::size_t>(std::find(names.begin(), names.end(), segment.name) - names.begin()) + 2] =
            segment.text;
    table.row(cells);
  }
  table.finish();
  if (ranks.size() > kMostRanks)
    page.element(
        "p", {{"class", "faint"}},
        "and " + plural(static_cast<std::int64_t>(ranks.size() - kMostRanks), "rank") + " more in the JSON report");
}

}  // namespace

std::string style_of_class(std::string_view name) {
  for (const std::string_view known : step_classes())
    if (name == known) return "k-" + std::string(name);
  for (const std::string_view known : {"comm", "forward", "backward", "optimizer"})
    if (name == known) return "k-" + std::string(name);
  return "k-other";
}

void write_step_bars(const Report& report, Markup& page) {
  std::vector<const Attribution*> others;
  bool drawn = false;
  for (const Attribution& attribution : report.attribution) {
    if (attribution.scope != "all" || attribution.step != "median") {
      others.push_back(&attribution);
      continue;
    }
    write_scope(report, attribution, page);
    drawn = true;
  }
  const Metric* time = metric_in(report, "step.time_ms", "all");
  if (!drawn)
    page.element(
        "p", {{"class", time != nullptr ? "strong" : "faint"}},
        time != nullptr ? "step " + format_ms(time->value) + " " + spread_text(*time) : "step: time not measured");
  if (others.empty()) return;
  page.open("details");
  page.element("summary", {}, "Each rank");
  write_ranks(report, others, page);
  page.close();
}

}  // namespace gradsync
