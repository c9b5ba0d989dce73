// The part of a log that nccl-tests or rccl-tests wrote: any number of runs, possibly with other output between and
// inside their lines. Fed line by line; keeps rows only, at most kMostRows.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "collectors/import/nccl_lines.h"
#include "collectors/import/nccl_operation.h"
#include "collectors/import/nccl_sweep.h"
#include "collectors/import/nccl_table.h"

namespace gradsync {

class NcclTestsLog {
 public:
  explicit NcclTestsLog(std::string file_name) : file_name_(std::move(file_name)) {}

  void line(std::string_view text);        // what no process of NCCL wrote
  void interrupted(const NcclLine& line);  // what stood before a line of NCCL
  void finish();                           // the end of the file

  const std::vector<SweepRun>& runs() const { return runs_; }
  bool saw_table() const { return saw_table_; }
  std::string version() const;  // of NCCL, from the header; empty = not printed
  const std::set<std::string>& gpus() const { return gpus_; }
  std::int64_t rows_lost() const { return rows_lost_; }
  std::int64_t rows_without_numbers() const { return rows_without_numbers_; }
  std::vector<std::string> remarks() const;  // for the coverage: what is missing and why

  static constexpr std::int64_t kMostRows = 100000;

 private:
  struct Pending {
    SweepRun run;
    TableShape shape;
    std::string program, command;  // operations that the run's header, and a line before it, name
    std::set<std::string> hosts;
    std::int64_t ranks = 0;
    double validated = kUnknownNumber;
    double largest_busbw = 0;
    bool started = false, ended = false;
    std::vector<double> errors;  // of `run.rows`, where the table has the column
  };

  void start_run();
  void comment(std::string_view text);
  void settings(std::string_view text);
  void device(std::string_view text);
  void take_row();
  void add_cells(const TableLine& line, const TableCells& cells, const char* place);
  void end_run();

  std::string file_name_, line_before_, command_;
  std::optional<TableLayout> layout_;
  bool header_just_read_ = false, saw_table_ = false;
  TableRow row_;
  Pending now_;
  std::vector<SweepRun> runs_;
  std::set<std::string> gpus_, versions_;
  std::int64_t rows_ = 0, rows_lost_ = 0, rows_without_numbers_ = 0, unended_ = 0, empty_ = 0, cpu_time_ = 0;
};

}  // namespace gradsync
