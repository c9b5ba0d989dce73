// Two sets of runs beside each other, of the commands compare and verify:
//
//   COMPARED   A before.json   38 steps, 245.1 ms
//              B after.json    38 steps, 121.7 ms
//              one run each side: …
//   step              245.1 ms → 121.7 ms   −122.9 ms (−130.3 … −115.0), p < 0.001   shorter
//     compute         211.2 ms → 108.8 ms   −102.1 ms (−108.2 … −95.9), p 0.002      shorter
//   FINDINGS THAT CHANGED
//     gone   compress-not-overlapped   32.4 ms
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/base/text.h"
#include "src/base/units.h"
#include "src/model/series_table.h"
#include "src/report/parts/parts.h"
#include "src/report/parts/words.h"

namespace gradsync {
namespace {

constexpr int kValueColumn = 30, kChangeColumn = 52;

bool counts_bytes(const SeriesRow& row) { return row.text("measure").find("bytes") != std::string::npos; }

std::string plain_value(const SeriesRow& row, double value) {
  return counts_bytes(row) ? format_bytes(value) : format_value(value, row.text("unit"));
}

std::string value_text(const SeriesRow& row, std::string_view column) {
  const std::optional<double> value = row.number(column);
  return value && std::isfinite(*value) ? no_break(plain_value(row, *value)) : "?";
}

std::string ms_text(const std::optional<double>& ms) {
  return ms && std::isfinite(*ms) ? no_break(format_ms(*ms)) : "–";
}

std::string signed_text(double value, const std::string& size) {
  return (value < 0 ? "−" : value > 0 ? "+" : "") + size;
}

// "attribution.comm_peer_wait_ms" → "comm peer wait"; other metrics keep their names.
std::string measure_text(const std::string& measure) {
  if (measure == "step.time_ms") return "step";
  constexpr std::string_view kPrefix = "attribution.", kSuffix = "_ms";
  if (!measure.starts_with(kPrefix)) return measure;
  std::string name = measure.substr(kPrefix.size(), measure.size() - kPrefix.size() - kSuffix.size());
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

std::string test_text(const SeriesRow& row) {
  const auto low = row.number("low"), high = row.number("high"), p = row.number("p");
  if (!low || !high || !p || !std::isfinite(*low) || !std::isfinite(*p)) return "";
  const std::string level = *p < 0.001 ? "< 0.001" : fmt::format("{:.3f}", *p);
  return no_break(fmt::format("({} … {}), p {}", signed_text(*low, format_decimal(std::abs(*low))),
                              signed_text(*high, format_decimal(std::abs(*high))), level));
}

// A step and a class are long or short; of other numbers nobody says which way is better.
void draw_answer(const SeriesRow& row, Canvas& canvas) {
  const std::string verdict = row.text("verdict");
  const bool good_when_short = row.text("unit") == "ms";
  if (verdict == "rose" || verdict == "fell") {
    const bool rose = verdict == "rose";
    canvas.piece(rose ? "more" : "less", !good_when_short ? Paint::plain : rose ? Paint::bad : Paint::good, 3);
  } else if (verdict != "not tested") {
    canvas.piece(verdict, Paint::faint, 3);
  }
}

void draw_measure(const SeriesRow& row, Canvas& canvas) {
  const bool step = row.text("measure") == "step.time_ms";
  canvas.start(step ? 1 : 3, 6);
  canvas.piece(measure_text(row.text("measure")), step ? Paint::strong : Paint::plain);
  canvas.tab(canvas.narrow() ? 0 : kValueColumn);
  canvas.piece(value_text(row, "before_p50") + " → " + value_text(row, "after_p50"));
  canvas.tab(canvas.narrow() ? 0 : kChangeColumn);
  if (const auto change = row.number("change"); change && std::isfinite(*change) && *change != 0)
    canvas.piece(no_break(signed_text(*change, plain_value(row, std::abs(*change)))), Paint::strong, 3);
  if (const std::string test = test_text(row); !test.empty()) canvas.piece(test, Paint::faint);
  draw_answer(row, canvas);
}

void draw_sides(const Report& report, Canvas& canvas) {
  canvas.start(0, 11);
  canvas.piece("COMPARED", Paint::strong);
  bool first = true;
  for (const SeriesRow& row : rows_of(report, "compare_runs")) {
    if (!first) canvas.start(canvas.narrow() ? 2 : 11, 13);
    canvas.tab(canvas.narrow() ? 0 : 11);
    first = false;
    canvas.piece(row.text("side"), Paint::strong);
    canvas.piece(row.text("path"));
    canvas.piece(plural(static_cast<std::int64_t>(row.number("steps").value_or(0)), "step") + ", " +
                     ms_text(row.number("step_ms")),
                 Paint::faint, 3);
  }
  if (const auto cautions = report.facts.find("compare.cautions"); cautions != report.facts.end()) {
    canvas.start(2, 2);
    canvas.prose(cautions->second, Paint::warning);
  }
  if (const auto unit = report.facts.find("compare.unit"); unit != report.facts.end()) {
    canvas.start(2, 2);
    canvas.prose(
        "change of the median with its 90 % interval, two-sided p; of classes Holm's; observations: " + unit->second,
        Paint::faint);
  }
}

// Whether a row is worth a line: what stayed within noise and is small is there with -v alone.
bool is_shown(const SeriesRow& row, double step_ms, Verbosity verbosity) {
  if (verbosity == Verbosity::verbose || row.text("measure") == "step.time_ms") return true;
  const double before = row.number("before_p50").value_or(0), after = row.number("after_p50").value_or(0);
  if (row.text("unit") == "ms") return std::max(before, after) >= 0.005 * step_ms;
  return std::abs(after - before) > 0.005 * std::max(std::abs(before), std::abs(after));
}

void draw_findings_changed(const Report& report, Canvas& canvas) {
  bool heading = false;
  for (const SeriesRow& row : rows_of(report, "compare_findings")) {
    const auto before = row.number("before_ms"), after = row.number("after_ms");
    const std::string change = row.text("change");
    if (!heading) {
      canvas.blank();
      canvas.start(0, 2);
      canvas.piece("FINDINGS OF A AND B", Paint::strong);
      heading = true;
    }
    canvas.start(1, 6);
    canvas.piece(change == "went" ? "gone" : change, change == "appeared" ? Paint::bad
                                                     : change == "went"   ? Paint::good
                                                                          : Paint::plain);
    canvas.tab(canvas.narrow() ? 0 : 12);
    canvas.piece(row.text("rule"), Paint::strong);
    if (before || after) canvas.piece(ms_text(before) + " → " + ms_text(after), Paint::plain, 3);
  }
}

void draw_facts_changed(const Report& report, Canvas& canvas) {
  const std::vector<SeriesRow> rows = rows_of(report, "compare_facts");
  if (rows.empty()) return;
  canvas.blank();
  canvas.start(0, 2);
  canvas.piece("NOT THE SAME", Paint::strong);
  for (const SeriesRow& row : rows) {
    canvas.start(1, 6);
    canvas.piece(row.text("kind"), Paint::faint);
    canvas.tab(canvas.narrow() ? 0 : 14);
    canvas.piece(row.text("name"), Paint::strong);
    canvas.prose(row.text("before") + " → " + row.text("after"));
  }
}

}  // namespace

void draw_comparison(const Report& report, Canvas& canvas) {
  const std::vector<SeriesRow> rows = rows_of(report, "compare");
  if (rows.empty()) return;
  canvas.blank();
  draw_sides(report, canvas);
  canvas.blank();
  const double step = rows.front().number("before_p50").value_or(0);
  for (const SeriesRow& row : rows)
    if (is_shown(row, step, canvas.options().verbosity)) draw_measure(row, canvas);
  draw_findings_changed(report, canvas);
  draw_facts_changed(report, canvas);
  canvas.blank();
}

}  // namespace gradsync
