// `perf sched timehist`: one line each time a thread leaves a CPU.
//
//              time    cpu  task name                       wait time  sch delay   run time
//                           [tid/pid]                          (msec)     (msec)     (msec)
//   --------------- ------  ------------------------------  ---------  ---------  ---------
//       1947.020279 [0001]  kworker/1:1H-kb[44]                 0.000      0.297      0.006
//       1947.021000 [0001]  python3[2341/2340]                  0.000      0.012      0.006
//       1947.021962 [0000]  <idle>                              0.019      0.000      0.964
//
// With -V a picture of the CPUs stands before the name, with --state and -n more columns behind, with -w and -M lines
// "awakened: …" and "migrated: … cpu 0 => 1" between. A delay of 0.000 means that no wake-up was seen (a preempted
// thread): it is no delay. Waits hold sleep as well, so what was spent waiting for a CPU is not known. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "src/hosttext/thread_waits.h"

namespace gradsync {

bool is_timehist_header(std::string_view line);

class PerfTimehistParser {
 public:
  void add_line(std::string_view line);

  std::vector<ThreadWait> threads() const;  // idle left out; the longest delay first
  std::int64_t rows() const { return rows_; }
  std::int64_t broken_rows() const { return broken_rows_; }
  std::int64_t dropped() const { return dropped_; }  // of more threads or delays than are kept

 private:
  struct Thread {
    std::vector<float> delays_us;
    double run_us = 0;
    std::int64_t migrations = 0;
  };
  void add_row(std::string_view name, std::string_view numbers);
  Thread* find(std::string_view name);

  std::size_t name_offset_ = 0;  // from the bracket that closes the CPU to the name; 0 = no header yet
  std::size_t delay_column_ = 1, run_column_ = 2;
  bool saw_migrations_ = false;
  std::map<std::string, Thread, std::less<>> threads_;
  std::size_t kept_ = 0;
  std::int64_t rows_ = 0, broken_rows_ = 0, dropped_ = 0;
};

}  // namespace gradsync
