// Sweeps of a fabric that exists only as a formula: live samples with noise and outliers, or a log with one time each.
#pragma once

#include <functional>
#include <string>

#include "src/model/inputs.h"

namespace gradsync::test {

struct SweepShape {
  std::int64_t first_bytes = 1024;  // sizes double from here
  int sizes = 11;
  int repeats = 10;
  double noise = 0.05;       // standard deviation of the logarithm
  double outlier_share = 0;  // calls that take up to four times as long
  std::uint64_t seed = 1;
  std::string load{};
  std::string type{"float"};
};

using Microseconds = std::function<double(double bytes)>;

Inputs live_sweep(const std::string& operation, const Microseconds& us, const SweepShape& shape = {});
void add_live(Inputs& inputs, const std::string& operation, const Microseconds& us, const SweepShape& shape = {});

// One run of nccl-tests from 8 bytes to 64 MiB, out of place and in place.
Inputs log_sweep(const std::string& operation, const Microseconds& out, const Microseconds& in = nullptr);
void add_log(Inputs& inputs, const std::string& operation, const std::string& source, const Microseconds& out,
             const Microseconds& in);

}  // namespace gradsync::test
