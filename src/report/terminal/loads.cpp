// The table of reference compressors, one for each size:
//
//   25.6M elements                    ms   p10 … p90    n  roofline      wire  of fp32  cosine  decode ms
//     topk_histogram                 3.5   3.4 … 3.6   11      75 %   2.3 MiB    2.3 %   0.308        2.4
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <variant>

#include "src/base/units.h"
#include "src/report/terminal/parts.h"
#include "src/report/terminal/words.h"

namespace gradsync {
namespace {

constexpr int kTableWidth = 90;

class LoadRows {
 public:
  explicit LoadRows(const Series& series) : series_(series) {}
  std::string text(const std::vector<Cell>& row, std::string_view column) const {
    const Cell* cell = find(row, column);
    const auto* text = cell == nullptr ? nullptr : std::get_if<std::string>(cell);
    return text == nullptr ? "" : *text;
  }
  double number(const std::vector<Cell>& row, std::string_view column) const {
    const Cell* cell = find(row, column);
    if (cell == nullptr) return 0;
    if (const auto* whole = std::get_if<std::int64_t>(cell)) return static_cast<double>(*whole);
    const auto* real = std::get_if<double>(cell);
    return real == nullptr ? 0 : *real;
  }

 private:
  const Cell* find(const std::vector<Cell>& row, std::string_view column) const {
    const auto found = std::find(series_.columns.begin(), series_.columns.end(), column);
    const auto at = static_cast<std::size_t>(found - series_.columns.begin());
    return at < row.size() ? &row[at] : nullptr;
  }
  const Series& series_;
};

std::string line_of(const LoadRows& rows, const std::vector<Cell>& row) {
  const std::string spread =
      fmt::format("{} … {}", format_decimal(rows.number(row, "ms_p10")), format_decimal(rows.number(row, "ms_p90")));
  return fmt::format("{:<16}{:>8}  {:>14}  {:>3}  {:>8}  {:>9}  {:>7}  {:>6.3f}  {:>9}", rows.text(row, "algorithm"),
                     format_decimal(rows.number(row, "ms_p50")), spread, rows.number(row, "n"),
                     format_percent(rows.number(row, "roofline_percent")), format_bytes(rows.number(row, "wire_bytes")),
                     format_percent(rows.number(row, "wire_percent")), rows.number(row, "cosine"),
                     format_decimal(rows.number(row, "decompress_ms")));
}

// One piece, whose spaces stay as they are.
std::string in_columns(std::string_view line) {
  std::string text;
  for (const char c : line) c == ' ' ? text += kNoBreak : text += c;
  return text;
}

std::string words_of(const LoadRows& rows, const std::vector<Cell>& row) {
  return fmt::format("{} {}, {} of the roofline, {} on the wire, cosine {:.3f}", rows.text(row, "algorithm"),
                     format_ms(rows.number(row, "ms_p50")), format_percent(rows.number(row, "roofline_percent")),
                     format_bytes(rows.number(row, "wire_bytes")), rows.number(row, "cosine"));
}

std::string memory_text(const Report& report) {
  std::string text;
  for (const char* name : {"read", "copy", "update"}) {
    const auto found = find_metric(report, fmt::format("memory.{}_gbytes_per_s", name), "all");
    if (found.metric != nullptr)
      text += fmt::format("{}{} {} GB/s", text.empty() ? "memory: " : ", ", name, format_decimal(found.value));
  }
  return text;
}

}  // namespace

void draw_loads(const Report& report, Canvas& canvas) {
  const auto found = report.series.find("load_profiles");
  if (found == report.series.end()) return;
  const LoadRows rows(found->second);
  const bool table = canvas.width() >= kTableWidth;
  double size = -1;
  for (const auto& row : found->second.rows) {
    if (const double elements = rows.number(row, "elements"); elements != size) {
      size = elements;
      canvas.start(0, 2);
      const double buckets = rows.number(row, "buckets");
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
      canvas.piece(in_columns(line_of(rows, row)));
    else
      canvas.prose(words_of(rows, row));
  }
  canvas.start(0, 2);
  canvas.prose(memory_text(report), Paint::faint);
}

}  // namespace gradsync
