// What nccl-tests measured, whatever it was written as: one run has one operation and a row for each size and place.
// Numbers that a file does not hold are NaN, which the report writes as null.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "src/model/series.h"

namespace gradsync {

inline constexpr double kUnknownNumber = std::numeric_limits<double>::quiet_NaN();

struct SweepRow {
  std::int64_t bytes = 0;
  double count = kUnknownNumber;  // elements, as the test counts them
  std::string type;
  double n = 1;  // iterations behind the time
  double p10_us = kUnknownNumber, p50_us = kUnknownNumber, p90_us = kUnknownNumber, p99_us = kUnknownNumber;
  double algbw = kUnknownNumber, busbw = kUnknownNumber;  // GB/s
  double wrong = kUnknownNumber;                          // results that were wrong
  std::string place;                                      // out, in; empty = the file does not say
};

struct SweepRun {
  std::string operation = "unknown";  // all_reduce, …
  std::string operation_from;         // how it is known, in words
  std::string source;                 // file name, with " run 2" behind it for later runs in one file
  double ranks = kUnknownNumber, nodes = kUnknownNumber, iterations = kUnknownNumber;
  double out_of_bounds = kUnknownNumber;  // the test's own count of wrong results
  double average_busbw = kUnknownNumber;  // as the test printed it
  std::vector<SweepRow> rows;
};

// Appends the run to sweep.<operation> and to sweep_runs.
void add_run(const SweepRun& run, SeriesSet& series);

// The table of one operation, created when it is not there.
Series& sweep_series(SeriesSet& series, const std::string& name);
std::vector<Cell> sweep_cells(const SweepRow& row, const std::string& source, double ranks);

}  // namespace gradsync
