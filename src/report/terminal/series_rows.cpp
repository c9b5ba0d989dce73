#include "src/report/terminal/series_rows.h"

#include <algorithm>
#include <cmath>

namespace gradsync {

const Cell* SeriesRow::find(std::string_view column) const {
  const auto found = std::find(series_->columns.begin(), series_->columns.end(), column);
  const auto index = static_cast<std::size_t>(found - series_->columns.begin());
  return index < cells_->size() ? &(*cells_)[index] : nullptr;
}

std::optional<double> SeriesRow::number(std::string_view column) const {
  const Cell* cell = find(column);
  if (cell == nullptr) return std::nullopt;
  if (const auto* whole = std::get_if<std::int64_t>(cell)) return static_cast<double>(*whole);
  const auto* real = std::get_if<double>(cell);
  return real != nullptr && std::isfinite(*real) ? std::optional(*real) : std::nullopt;
}

std::string SeriesRow::text(std::string_view column) const {
  const Cell* cell = find(column);
  const auto* words = cell == nullptr ? nullptr : std::get_if<std::string>(cell);
  return words == nullptr ? "" : *words;
}

std::vector<SeriesRow> rows_of(const Series& series) {
  std::vector<SeriesRow> rows;
  for (const std::vector<Cell>& cells : series.rows) rows.emplace_back(series, cells);
  return rows;
}

std::vector<SeriesRow> rows_of(const Report& report, std::string_view name) {
  const auto found = report.series.find(std::string(name));
  return found == report.series.end() ? std::vector<SeriesRow>{} : rows_of(found->second);
}

}  // namespace gradsync
