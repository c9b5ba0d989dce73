#include "src/report/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace gradsync {
namespace {

constexpr std::string_view kPrefix = "sweep.", kEndOfLine = "\r\n";

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string whole = "\"";
  for (const char c : text) whole += c == '"' ? std::string("\"\"") : std::string(1, c);
  return whole + "\"";
}

std::string cell_text(const Cell& cell) {
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) return std::to_string(*whole);
  if (const auto* real = std::get_if<double>(&cell)) return std::isfinite(*real) ? fmt::format("{}", *real) : "";
  return quoted(std::get<std::string>(cell));
}

std::vector<std::string> all_columns(const SeriesSet& all) {
  std::vector<std::string> columns;
  for (const auto& [name, series] : all)
    if (name.starts_with(kPrefix))
      for (const std::string& column : series.columns)
        if (std::find(columns.begin(), columns.end(), column) == columns.end()) columns.push_back(column);
  return columns;
}

}  // namespace

std::string sweep_to_csv(const SeriesSet& all) {
  const std::vector<std::string> columns = all_columns(all);
  if (columns.empty()) return "";
  std::string text = "operation";
  for (const std::string& column : columns) text += "," + quoted(column);
  text += kEndOfLine;
  for (const auto& [name, series] : all) {
    if (!name.starts_with(kPrefix)) continue;
    for (const std::vector<Cell>& row : series.rows) {
      text += quoted(name.substr(kPrefix.size()));
      for (const std::string& column : columns) {
        const auto at = static_cast<std::size_t>(std::find(series.columns.begin(), series.columns.end(), column) -
                                                 series.columns.begin());
        text += "," + (at < row.size() ? cell_text(row[at]) : std::string());
      }
      text += kEndOfLine;
    }
  }
  return text;
}

}  // namespace gradsync
