// The table of nccl-tests and rccl-tests, read by the names in its header:
//
//   #                                                     out-of-place                       in-place
//   #       size         count    type   redop     time   algbw   busbw  error     time   algbw   busbw  error
//   #        (B)    (elements)                     (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
//        1048576        262144   float     sum    135.3    7.75   15.02  7e-07    132.7    7.90   15.31  7e-07
//
// Columns come and go with the version and the operation, cells may be blank, and one group may stand alone. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gradsync {

struct TableColumn {
  std::string name;
  std::size_t end = 0;  // cells are right-aligned: where the name ends in its line
};

enum class TimeUnit { unknown, microseconds, milliseconds };

struct TableLayout {
  std::size_t leading_words = 0;                 // of a prefix that every line carries (a time stamp)
  std::vector<TableColumn> facts;                // size count type [redop] [root]
  std::vector<std::vector<TableColumn>> groups;  // time algbw busbw …; out of place, then in place
  bool only_in_place = false;
  TimeUnit unit = TimeUnit::unknown;

  bool has(std::string_view fact) const;
};

// The layout that a header line describes. `line_before` tells whether a single group is the in-place one.
std::optional<TableLayout> table_layout(std::string_view line, std::string_view line_before);

// The unit that the line below the header gives; unknown when it is another line.
TimeUnit time_unit(std::string_view line);

struct TableCells {
  bool present = false;
  double time = 0, algbw = 0, busbw = 0, wrong = 0, error = 0, p99 = 0;  // NaN = no number
};

struct TableLine {
  std::int64_t bytes = 0, count = 0;
  std::string type, redop, root;
  TableCells out, in;  // of a table without names for its groups: `out`
};

// A row that may arrive in pieces: other processes write in the middle of it.
class TableRow {
 public:
  // True when `text` begins a row. Pieces before it are forgotten: take() them first.
  bool begin(std::string_view text, const TableLayout& layout);
  bool add(std::string_view text);  // false when `text` is not the continuation of a row
  bool pending() const { return !words_.empty(); }
  bool complete(const TableLayout& layout) const;
  // The row, with the groups that are there; nothing when not even one group is whole.
  std::optional<TableLine> take(const TableLayout& layout);

 private:
  std::size_t fact_words(const TableLayout& layout) const;
  std::vector<std::string> words_;
  std::size_t end_ = 0;  // of the last word in its line
  int pieces_ = 0;
};

// "7151.5" → 7151.5, "0*" → 0; NaN for "N/A", "nan", "inf" and everything else.
double table_number(std::string_view cell);

}  // namespace gradsync
