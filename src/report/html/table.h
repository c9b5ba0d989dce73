// Tables with headings that say whose cells they head. A table scrolls sideways where it is wider than the page.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/model/series_table.h"
#include "src/report/html/markup.h"

namespace gradsync {

enum class ColumnKind { word, number, prose };

struct TableColumn {
  std::string heading;
  ColumnKind kind = ColumnKind::word;
};

class Table {
 public:
  // Rows can be sorted by a click on a heading where the page's script runs.
  Table(Markup& page, std::string_view caption, std::vector<TableColumn> columns);
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;
  // The first cell heads its row. A cell of a number may be sorted by `values`, one for each cell, where those are given.
  void row(const std::vector<std::string>& cells, const std::vector<std::string>& values = {});
  // A row whose first cell is drawn with a swatch of a style of pictures.
  void row(const std::vector<std::string>& cells, const std::string& swatch);
  void finish();

 private:
  void cells_from(std::size_t first, const std::vector<std::string>& cells, const std::vector<std::string>& values);
  Markup& page_;
  std::size_t base_;
  std::vector<TableColumn> columns_;
};

// The columns of a series that exist and that some row fills, with units by their names. At most `most` rows; a last line
// says how many more there are.
void draw_series_table(Markup& page, const Series& series, std::string_view caption,
                       const std::vector<std::string>& columns, std::size_t most = 200);

}  // namespace gradsync
