// The table of reference compressors, one for each size:
//
//   25.6M elements                    ms   p10 … p90    n  roofline      wire  of fp32  cosine  decode ms
//     topk_histogram                 3.5   3.4 … 3.6   11      75 %   2.3 MiB    2.3 %   0.308        2.4
#include <fmt/format.h>

#include <limits>
#include <string>

#include "src/base/units.h"
#include "src/model/series_table.h"
#include "src/report/parts/parts.h"
#include "src/report/parts/words.h"

namespace gradsync {
namespace {

constexpr int kTableWidth = 90;

double number_of(const SeriesRow& row, std::string_view column) {
  return row.number(column).value_or(std::numeric_limits<double>::quiet_NaN());
}

std::string line_of(const SeriesRow& row) {
  const std::string spread =
      fmt::format("{} … {}", format_decimal(number_of(row, "ms_p10")), format_decimal(number_of(row, "ms_p90")));
  return fmt::format("{:<16}{:>8}  {:>14}  {:>3}  {:>8}  {:>9}  {:>7}  {:>6.3f}  {:>9}", row.text("algorithm"),
                     format_decimal(number_of(row, "ms_p50")), spread, number_of(row, "n"),
                     format_percent(number_of(row, "roofline_percent")), format_bytes(number_of(row, "wire_bytes")),
                     format_percent(number_of(row, "wire_percent")), number_of(row, "cosine"),
                     format_decimal(number_of(row, "decompress_ms")));
}

// One piece, whose spaces stay as they are.
std::string in_columns(std::string_view line) {
  std::string text;
  for (const char c : line) c == ' ' ? text += kNoBreak : text += c;
  return text;
}

std::string words_of(const SeriesRow& row) {
  return fmt::format("{} {}, {} of the roofline, {} on the wire, cosine {:.3f}", row.text("algorithm"),
                     format_ms(number_of(row, "ms_p50")), format_percent(number_of(row, "roofline_percent")),
                     format_bytes(number_of(row, "wire_bytes")), number_of(row, "cosine"));
}

}  // namespace

std::string memory_text(const Report& report) {
  std::string text;
  for (const char* name : {"read", "copy", "update"}) {
    const auto found = find_metric(report, fmt::format("memory.{}_gbytes_per_s", name), "all");
    if (found.metric != nullptr)
      text += fmt::format("{}{} {} GB/s", text.empty() ? "memory: " : ", ", name, format_decimal(found.value));
  }
  return text;
}

void draw_loads(const Report& report, Canvas& canvas) {
  const auto found = report.series.find("load_profiles");
  if (found == report.series.end()) return;
  const bool table = canvas.width() >= kTableWidth;
  double size = -1;
  for (const SeriesRow& row : rows_of(found->second)) {
    if (const double elements = number_of(row, "elements"); elements != size) {
      size = elements;
      canvas.start(0, 2);
      const double buckets = number_of(row, "buckets");
      canvas.piece(format_count(size) + " elements" + (buckets > 1 ? fmt::format(" × {}", buckets) : ""),
                   Paint::strong);
      if (table) {
        canvas.start(2, 4);
        canvas.piece(
            in_columns(fmt::format("{:<16}{:>8}  {:>14}  {:>3}  {:>8}  {:>9}  {:>7}  {:>6}  {:>9}", "load", "ms",
                                   "p10 … p90", "n", "roofline", "wire", "of fp32", "cosine", "decode ms")),
            Paint::faint);
      }
    }
    canvas.start(2, 4);
    if (table)
      canvas.piece(in_columns(line_of(row)));
    else
      canvas.prose(words_of(row));
  }
  canvas.start(0, 2);
  canvas.prose(memory_text(report), Paint::faint);
}

}  // namespace gradsync
