// The kernels of the CUDA loads: the verifier, and the CPU's loads as their oracle. On this machine as fibres; built with
// GSD_ON_GPU on a device (tests/gpu/loads.sh).
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "loads/cuda/cuda_library.h"
#ifndef GSD_ON_GPU
#include "loads/cuda/fibres.h"
#endif
#include "loads/library.h"
#include "loads/verify/tools.h"

using namespace gradsync;
using verify_parts::Input;
using verify_parts::Run;
using verify_parts::Subject;

namespace {

const LoadEntry& entry_of(const LoadLibrary& library, const std::string& algorithm) {
  for (const LoadEntry& entry : library.loads())
    if (entry.algorithm == algorithm) return entry;
  FAIL("no such load");
  return library.loads().front();
}

void check_all(const LoadEntry& entry, const LoadOptions& options) {
  const std::vector<Check> checks = cuda::cuda_load_library().verify(entry.make, options);
  CHECK(checks.size() >= 3);
  for (const Check& check : checks) {
    INFO(entry.algorithm, " ", check.id, " ", check.what, ": ", check.measured);
    CHECK(check.passed);
  }
}

// Sums of many numbers are made in another order on each device.
bool sums_in_its_own_order(const std::string& algorithm) {
  return algorithm == "onebit_ef" || algorithm == "qsgd" || algorithm == "powersgd";
}

bool same_numbers(std::span<const float> x, std::span<const float> y) {
  return x.size() == y.size() && (x.empty() || std::memcmp(x.data(), y.data(), x.size_bytes()) == 0);
}

// Factors are sums of numbers that cancel: their digits are those of the largest.
bool close_numbers(const std::string& algorithm, std::span<const float> x, std::span<const float> y) {
  if (x.size() != y.size()) return false;
  const double largest = algorithm == "powersgd" ? 10 * verify_parts::largest_magnitude(x) : 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double one = static_cast<double>(x[i]), other = static_cast<double>(y[i]);
    if (!(std::fabs(one - other) <= 4e-6 * std::max(std::fabs(one), largest))) return false;
  }
  return true;
}

// Three steps on both devices, and the sum of three ranks.
void compare(const std::string& algorithm, const LoadOptions& options, const std::vector<float>& x) {
  const auto n = static_cast<std::int64_t>(x.size());
  const auto cpu = entry_of(cpu_load_library(), algorithm).make(options);
  const auto cuda = entry_of(cuda::cuda_load_library(), algorithm).make(options);
  REQUIRE(cpu->prepare(n, 9));
  REQUIRE(cuda->prepare(n, 9));
  Payload of_cpu, of_cuda;
  cpu->reserve(of_cpu);
  cuda->reserve(of_cuda);
  for (int step = 0; step < 3; ++step) {
    cpu->compress(x, of_cpu);
    cuda->compress(x, of_cuda);
    CHECK(of_cpu.step == of_cuda.step);
    CHECK(of_cpu.not_finite == of_cuda.not_finite);
    CHECK(wire_bytes(of_cpu) == wire_bytes(of_cuda));
    CHECK(of_cpu.elements == of_cuda.elements);
    if (of_cpu.not_finite) continue;  // NaN has many bits
    if (sums_in_its_own_order(algorithm))
      CHECK(close_numbers(algorithm, of_cpu.values.span(), of_cuda.values.span()));
    else
      CHECK(verify_parts::same_payload(of_cpu, of_cuda));
    if (!sums_in_its_own_order(algorithm)) CHECK(same_numbers(cpu->residual(), cuda->residual()));
  }
  std::vector<float> cpu_sum(x.size()), cuda_sum(x.size());
  const std::vector<const Payload*> ranks(3, &of_cpu);  // the same payloads for both
  cpu->decompress(ranks, cpu_sum);
  cuda->decompress(ranks, cuda_sum);
  if (!of_cpu.not_finite) CHECK(same_numbers(cpu_sum, cuda_sum));
}

}  // namespace

TEST_CASE("every load passes every check") {
  for (const LoadEntry& entry : cuda::cuda_load_library().loads()) check_all(entry, {});
}

TEST_CASE("and with the options that change what it does") {
  const LoadLibrary& library = cuda::cuda_load_library();
  check_all(entry_of(library, "cast16"), {.half = HalfFormat::bf16});
  check_all(entry_of(library, "param_server"), {.merge = Merge::apply_each});
  check_all(entry_of(library, "qsgd"), {.levels = 4});
  check_all(entry_of(library, "powersgd"), {.rank = 7});
}

#ifndef GSD_ON_GPU
TEST_CASE("threads from the last to the first: no barrier is missing") {
  fibres::set_order(fibres::Order::descending);
  for (const LoadEntry& entry : cuda::cuda_load_library().loads()) {
    CAPTURE(entry.algorithm);
    for (const std::int64_t n : {33, 20'011}) compare(entry.algorithm, {}, verify_parts::normal_numbers(n, 3));
  }
  fibres::set_order(fibres::Order::ascending);
}
#endif

TEST_CASE("the same loads as on the CPU, in the same order") {
  const auto& cpu = cpu_load_library().loads();
  const auto& cuda = cuda::cuda_load_library().loads();
  REQUIRE(cpu.size() == cuda.size());
  for (std::size_t i = 0; i < cpu.size(); ++i) CHECK(cpu[i].algorithm == cuda[i].algorithm);
}

TEST_CASE("payloads, residuals and sums are the CPU's, bit for bit where it promises that") {
  for (const LoadEntry& entry : cuda::cuda_load_library().loads())
    for (const std::int64_t n : {0, 1, 31, 513, 20'011, 70'001})
      for (const Input& input : verify_parts::inputs_of(n)) {
        CAPTURE(entry.algorithm);
        CAPTURE(n);
        CAPTURE(input.name);
        if (entry.algorithm == "powersgd" && n > 0) continue;  // its own checks: V7
        compare(entry.algorithm, {}, input.values);
        if (n == 513 || n == 20'011)
          compare(entry.algorithm, {.ratio = 0.3, .feedback = Feedback::residual}, input.values);
        if (n == 513) compare(entry.algorithm, {.feedback = Feedback::residual, .momentum = 0.9}, input.values);
      }
}

TEST_CASE("what is not finite is told as the CPU tells it") {
  for (const LoadEntry& entry : cuda::cuda_load_library().loads())
    for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN(), 1e30F}) {
      std::vector<float> x = verify_parts::normal_numbers(1000, 4);
      x[700] = bad;
      CAPTURE(entry.algorithm);
      CAPTURE(bad);
      if (entry.algorithm != "powersgd" || !std::isfinite(bad)) compare(entry.algorithm, {}, x);
    }
}

TEST_CASE("a sample that misleads, and equal magnitudes beyond the sample") {
  // Large numbers where no sampled line is likely to be; many equal ones; both halves of the work of topk_histogram.
  std::vector<float> few = verify_parts::normal_numbers(120'000, 5);
  for (std::size_t i = 0; i < 2000; ++i) few[i] *= 100;
  std::vector<float> equal(120'000, 0.25F);
  for (std::size_t i = 0; i < equal.size(); i += 7) equal[i] = -0.5F;
  for (const std::string algorithm : {"topk_histogram", "topk_select", "topk_sort", "dgc"})
    for (const double ratio : {0.02, 0.1, 0.2}) {
      CAPTURE(algorithm);
      CAPTURE(ratio);
      compare(algorithm, {.ratio = ratio}, few);
      compare(algorithm, {.ratio = ratio}, equal);
    }
}

TEST_CASE("the device's clock is asked for the kernels alone") {
  for (const LoadEntry& entry : cuda::cuda_load_library().loads()) {
    const auto load = entry.make({});
    REQUIRE(load->prepare(1000, 1));
    CHECK_FALSE(load->seconds().has_value());
    Payload payload;
    load->reserve(payload);
    load->compress(verify_parts::normal_numbers(1000, 1), payload);
    CHECK(load->seconds().value_or(-1) >= 0);
  }
}

TEST_CASE("more elements than kernels can count are refused") {
  for (const LoadEntry& entry : cuda::cuda_load_library().loads()) {
    const auto prepared = entry.make({})->prepare(std::int64_t{1} << 31, 1);
    REQUIRE_FALSE(prepared);
    CHECK(prepared.error().hint == "at most 2147483647");
  }
}
