// A Series: a table for a picture or for another tool. Columns and row order are part of the contract.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace gradsync {

using Cell = std::variant<std::int64_t, double, std::string>;

struct Series {
  std::string name;
  std::vector<std::string> columns;
  std::vector<std::vector<Cell>> rows;

  bool operator==(const Series&) const = default;
};

using SeriesSet = std::map<std::string, Series>;

}  // namespace gradsync
