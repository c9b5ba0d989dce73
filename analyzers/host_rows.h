// Rows of a collector's series by the names of their columns: importers and live collectors may add columns at the end.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "src/model/series.h"

namespace gradsync {

class HostTable {
 public:
  explicit HostTable(const Series& series);
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

}  // namespace gradsync
