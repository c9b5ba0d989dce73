// Which collective a table of nccl-tests is about. Newer versions print the name of the program, older ones do not:
// then the columns and the ratio of bus to algorithm bandwidth, which is a formula of each operation, narrow it down.
// Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gradsync {

// "all_reduce_perf", "/opt/nccl-tests/build/alltoall_perf_mpi", "AllReduce" → all_reduce, all_to_all; else empty.
std::string operation_of_program(std::string_view program);

// The last program of nccl-tests named in a command line; empty when there is none.
std::string operation_in_command(std::string_view line);

// The one operation that a file's name names; empty when there is none, or more than one.
std::string operation_in_file_name(std::string_view name);

// The reduction in the rows: a column that is not there, cells left blank, "none", or one with a name.
enum class RedopCells { no_column, blank, none, named };

// What the table itself shows.
struct TableShape {
  RedopCells redop = RedopCells::no_column;
  bool has_root = false;        // the rows name a root rank (not -1)
  double busbw_over_algbw = 0;  // of the row with the largest bus bandwidth; 0 = unknown
  double ranks = 0;             // 0 = unknown
};
std::vector<std::string> possible_operations(const TableShape& shape);

}  // namespace gradsync
