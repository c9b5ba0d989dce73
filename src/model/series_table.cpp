#include "src/model/series_table.h"

#include <algorithm>
#include <cmath>

namespace gradsync {
namespace {

std::optional<double> number_of(const Cell* cell) {
  if (cell == nullptr) return std::nullopt;
  if (const auto* whole = std::get_if<std::int64_t>(cell)) return static_cast<double>(*whole);
  const auto* real = std::get_if<double>(cell);
  return real != nullptr && std::isfinite(*real) ? std::optional(*real) : std::nullopt;
}

std::string text_of(const Cell* cell) {
  const auto* text = cell == nullptr ? nullptr : std::get_if<std::string>(cell);
  return text == nullptr ? "" : *text;
}

}  // namespace

SeriesTable::SeriesTable(const Series& series) : rows_(&series.rows) {
  for (std::size_t i = 0; i < series.columns.size(); ++i) columns_[series.columns[i]] = i;
}

const Cell* SeriesTable::cell(const std::vector<Cell>& row, std::string_view column) const {
  const auto found = columns_.find(column);
  return found == columns_.end() || found->second >= row.size() ? nullptr : &row[found->second];
}

std::optional<double> SeriesTable::number(const std::vector<Cell>& row, std::string_view column) const {
  return number_of(cell(row, column));
}

std::string SeriesTable::text(const std::vector<Cell>& row, std::string_view column) const {
  return text_of(cell(row, column));
}

const Cell* SeriesRow::cell(std::string_view column) const {
  const auto found = std::find(series_->columns.begin(), series_->columns.end(), column);
  const auto index = static_cast<std::size_t>(found - series_->columns.begin());
  return index < cells_->size() ? &(*cells_)[index] : nullptr;
}

std::optional<double> SeriesRow::number(std::string_view column) const { return number_of(cell(column)); }

std::string SeriesRow::text(std::string_view column) const { return text_of(cell(column)); }

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
