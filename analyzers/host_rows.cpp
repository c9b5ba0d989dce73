#include "analyzers/host_rows.h"

#include <cmath>

namespace gradsync {

HostTable::HostTable(const Series& series) : rows_(&series.rows) {
  for (std::size_t i = 0; i < series.columns.size(); ++i) columns_[series.columns[i]] = i;
}

const Cell* HostTable::cell(const std::vector<Cell>& row, std::string_view column) const {
  const auto found = columns_.find(column);
  return found == columns_.end() || found->second >= row.size() ? nullptr : &row[found->second];
}

std::optional<double> HostTable::number(const std::vector<Cell>& row, std::string_view column) const {
  const Cell* const value = cell(row, column);
  if (value == nullptr) return std::nullopt;
  if (const auto* whole = std::get_if<std::int64_t>(value)) return static_cast<double>(*whole);
  const auto* real = std::get_if<double>(value);
  return real != nullptr && std::isfinite(*real) ? std::optional(*real) : std::nullopt;
}

std::string HostTable::text(const std::vector<Cell>& row, std::string_view column) const {
  const Cell* const value = cell(row, column);
  const auto* text = value == nullptr ? nullptr : std::get_if<std::string>(value);
  return text == nullptr ? "" : *text;
}

}  // namespace gradsync
