// A series read by the names of its columns: importers and collectors may add columns at the end. Both views refer to the
// series. A column that is not there, and a cell of another kind, are unknown.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/model/report.h"
#include "src/model/series.h"

namespace gradsync {

// For many rows: columns are looked up once.
class SeriesTable {
 public:
  explicit SeriesTable(const Series& series);
  const std::vector<std::vector<Cell>>& rows() const { return *rows_; }
  // Nothing for a column that is not there, null, or text.
  std::optional<double> number(const std::vector<Cell>& row, std::string_view column) const;
  // Empty for a column that is not there, or a number.
  std::string text(const std::vector<Cell>& row, std::string_view column) const;

 private:
  const Cell* cell(const std::vector<Cell>& row, std::string_view column) const;
  const std::vector<std::vector<Cell>>* rows_;
  std::map<std::string, std::size_t, std::less<>> columns_;
};

// One row that is handed around.
class SeriesRow {
 public:
  SeriesRow(const Series& series, const std::vector<Cell>& cells) : series_(&series), cells_(&cells) {}
  std::optional<double> number(std::string_view column) const;
  std::string text(std::string_view column) const;

 private:
  const Cell* cell(std::string_view column) const;
  const Series* series_;
  const std::vector<Cell>* cells_;
};

// The rows of the series `name`; empty when the report has none.
std::vector<SeriesRow> rows_of(const Report& report, std::string_view name);
std::vector<SeriesRow> rows_of(const Series& series);

}  // namespace gradsync
