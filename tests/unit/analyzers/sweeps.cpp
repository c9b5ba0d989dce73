#include "tests/unit/analyzers/sweeps.h"

#include "src/model/sweep_columns.h"

#include <cmath>
#include <random>

namespace gradsync::test {

void add_live(Inputs& inputs, const std::string& operation, const Microseconds& us, const SweepShape& shape) {
  inputs.facts["sweep.ranks"] = std::string("2");
  Series& samples = inputs.series["sweep_samples." + operation];
  samples.name = std::string("sweep_samples.") + operation;
  samples.columns = {"bytes", "repeat", "us", "type", "count", "skew_us", "graph_us", "wrong", "load"};
  std::mt19937_64 random(shape.seed);
  std::normal_distribution<double> normal(0, shape.noise);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::int64_t bytes = shape.first_bytes;
  for (int size = 0; size < shape.sizes; ++size, bytes *= 2)
    for (int repeat = 0; repeat < shape.repeats; ++repeat) {
      double time = us(static_cast<double>(bytes)) * std::exp(normal(random));
      if (uniform(random) < shape.outlier_share) time *= 1 + 3 * uniform(random);
      samples.rows.push_back(
          {bytes, std::int64_t{repeat}, time, shape.type, bytes / 4, 0.0, std::nan(""), std::int64_t{0}, shape.load});
    }
}

Inputs live_sweep(const std::string& operation, const Microseconds& us, const SweepShape& shape) {
  Inputs inputs;
  add_live(inputs, operation, us, shape);
  return inputs;
}

void add_log(Inputs& inputs, const std::string& operation, const std::string& source, const Microseconds& out,
             const Microseconds& in) {
  Series& rows = inputs.series["sweep." + operation];
  rows.name = "sweep." + operation;
  rows.columns = kSweepColumns;
  const double none = std::nan("");
  for (std::int64_t bytes = 8; bytes <= 64 << 20; bytes *= 2)
    for (const bool in_place : {false, true}) {
      const double us = in_place ? in(static_cast<double>(bytes)) : out(static_cast<double>(bytes));
      const double algbw = static_cast<double>(bytes) / us * 1e-3;
      rows.rows.push_back({bytes, bytes / 4, std::string("float"), std::int64_t{20}, none, us, none, none, algbw, algbw,
                           std::int64_t{0}, none, std::string(in_place ? "in" : "out"), source, std::int64_t{2}});
    }
}

Inputs log_sweep(const std::string& operation, const Microseconds& out, const Microseconds& in) {
  Inputs inputs;
  add_log(inputs, operation, "a.log", out, in ? in : out);
  return inputs;
}

}  // namespace gradsync::test
