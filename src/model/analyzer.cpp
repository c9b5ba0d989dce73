#include "src/model/analyzer.h"

#include <algorithm>
#include <iterator>

namespace gradsync {

Series& Summary::table(std::string_view name, const std::vector<std::string>& columns) {
  Series& table = tables[std::string(name)];
  if (table.columns.empty()) {
    table.name = name;
    table.columns = columns;
  }
  return table;
}

const Series* Summary::find(std::string_view name) const {
  const auto found = tables.find(std::string(name));
  return found == tables.end() ? nullptr : &found->second;
}

void Summary::merge(Summary other) {
  for (auto& entry : other.tables) {
    Series& from = entry.second;
    Series& into = table(entry.first, from.columns);
    std::move(from.rows.begin(), from.rows.end(), std::back_inserter(into.rows));
  }
}

void Summary::canonicalise() {
  for (auto& [name, series] : tables) std::sort(series.rows.begin(), series.rows.end());
}

}  // namespace gradsync
