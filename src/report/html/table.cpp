#include "src/report/html/table.h"
#include "src/model/series_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/report/parts/fabric.h"
#include "src/report/parts/words.h"

namespace gradsync {
namespace {

std::string class_of(ColumnKind kind) {
  return kind == ColumnKind::number ? "n" : kind == ColumnKind::prose ? "wide" : "";
}

Attributes attributes_of(ColumnKind kind) {
  const std::string style = class_of(kind);
  return style.empty() ? Attributes{} : Attributes{{"class", style}};
}

std::string sort_value(const SeriesRow& row, const std::string& column) {
  const auto value = row.number(column);
  return value ? fmt::format("{}", *value) : "";
}

}  // namespace

Table::Table(Markup& page, std::string_view caption, std::vector<TableColumn> columns)
    : page_(page), base_(page.depth()), columns_(std::move(columns)) {
  page_.open("div", {{"class", "scroll"}, {"tabindex", "0"}, {"role", "group"}, {"aria-label", std::string(caption)}});
  page_.open("table", {{"class", "sort"}});
  page_.element("caption", {}, caption);
  page_.open("thead");
  page_.open("tr");
  for (const TableColumn& column : columns_) {
    Attributes attributes{{"scope", "col"}};
    if (column.kind == ColumnKind::number) attributes.emplace_back("class", "n");
    page_.element("th", attributes, column.heading);
  }
  page_.close_to(base_ + 2);
  page_.open("tbody");
}

void Table::row(const std::vector<std::string>& cells, const std::vector<std::string>& values) {
  page_.open("tr");
  Attributes attributes{{"scope", "row"}};
  if (!columns_.empty() && columns_[0].kind == ColumnKind::number) attributes.emplace_back("class", "n");
  if (!values.empty() && !values[0].empty()) attributes.emplace_back("data-v", values[0]);
  page_.element("th", attributes, cells.empty() ? "" : cells[0]);
  cells_from(1, cells, values);
}

void Table::row(const std::vector<std::string>& cells, const std::string& swatch) {
  page_.open("tr");
  page_.open("th", {{"scope", "row"}});
  page_.open("svg", {{"viewBox", "0 0 12 12"}, {"width", "12"}, {"height", "12"}, {"aria-hidden", "true"}});
  page_.empty("rect", {{"class", swatch}, {"width", "12"}, {"height", "12"}});
  page_.close();
  page_.text(" " + (cells.empty() ? std::string() : cells[0]));
  page_.close();
  cells_from(1, cells, {});
}

void Table::cells_from(std::size_t first, const std::vector<std::string>& cells,
                       const std::vector<std::string>& values) {
  for (std::size_t i = first; i < cells.size() && i < columns_.size(); ++i) {
    Attributes attributes = attributes_of(columns_[i].kind);
    if (i < values.size() && !values[i].empty()) attributes.emplace_back("data-v", values[i]);
    page_.element("td", attributes, cells[i]);
  }
  page_.close();
}

void Table::finish() { page_.close_to(base_); }

void draw_series_table(Markup& page, const Series& series, std::string_view caption,
                       const std::vector<std::string>& columns, std::size_t most) {
  const std::vector<SeriesRow> rows = rows_of(series);
  std::vector<std::string> filled;
  std::vector<TableColumn> headings;
  for (const std::string& column : columns) {
    const bool known =
        std::any_of(rows.begin(), rows.end(), [&](auto& row) { return series_cell(row, column) != "-"; });
    if (!known) continue;
    filled.push_back(column);
    const bool number =
        std::any_of(rows.begin(), rows.end(), [&](auto& row) { return row.number(column).has_value(); });
    headings.push_back({series_heading(column), number ? ColumnKind::number : ColumnKind::word});
  }
  if (filled.empty()) return;
  Table table(page, caption, headings);
  for (std::size_t i = 0; i < std::min(most, rows.size()); ++i) {
    std::vector<std::string> cells, values;
    for (const std::string& column : filled) {
      cells.push_back(series_cell(rows[i], column));
      values.push_back(sort_value(rows[i], column));
    }
    table.row(cells, values);
  }
  table.finish();
  if (rows.size() > most)
    page.element("p", {{"class", "faint"}},
                 "and " + plural(static_cast<std::int64_t>(rows.size() - most), "row") + " more in the JSON report");
}

}  // namespace gradsync
