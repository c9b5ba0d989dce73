// A series read by the names of its columns. A column that is not there, and a cell that holds no number, are unknown.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/model/report.h"

namespace gradsync {

class SeriesRow {
 public:
  SeriesRow(const Series& series, const std::vector<Cell>& cells) : series_(&series), cells_(&cells) {}
  std::optional<double> number(std::string_view column) const;  // finite
  std::string text(std::string_view column) const;

 private:
  const Cell* find(std::string_view column) const;
  const Series* series_;
  const std::vector<Cell>* cells_;
};

// The rows of the series `name`; empty when the report has none. They refer to the report.
std::vector<SeriesRow> rows_of(const Report& report, std::string_view name);
std::vector<SeriesRow> rows_of(const Series& series);

}  // namespace gradsync
