// V1: error feedback loses nothing. V9: the same again. V7: low rank is reproduced.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "loads/philox.h"
#include "loads/verify/tools.h"

namespace gradsync::verify_parts {
namespace {

constexpr double kEpsilon = 0x1p-23;
constexpr int kSteps = 20;
constexpr std::int64_t kElements = 20'011;

}  // namespace

// Σ gradients − Σ what payloads stand for − residual = 0, within what rounding to float allows.
void check_feedback(const Subject& subject, std::vector<Check>& checks) {
  LoadOptions options = subject.options;
  options.feedback = Feedback::residual;
  options.momentum = 0;
  const std::unique_ptr<Load> load = subject.make(options);
  if (!load->prepare(kElements, 5) || load->residual().empty()) return;
  Payload payload;
  load->reserve(payload);
  std::vector<double> balance(kElements);
  std::vector<float> decoded(kElements);
  double largest = 0;
  std::int64_t not_zero = 0;
  for (std::uint64_t step = 0; step < kSteps; ++step) {
    const std::vector<float> gradient = normal_numbers(kElements, 100 + step);
    largest = std::max(largest, largest_magnitude(gradient) + largest_magnitude(load->residual()));
    load->compress(gradient, payload);
    const Payload* one = &payload;
    load->decompress({&one, 1}, decoded);
    for (std::size_t i = 0; i < balance.size(); ++i)
      balance[i] += static_cast<double>(gradient[i]) - static_cast<double>(decoded[i]);
    for (const std::uint32_t index : payload.indices.span())
      not_zero += std::bit_cast<std::uint32_t>(load->residual()[index]) != 0 ? 1 : 0;
  }
  double off = 0;
  for (std::size_t i = 0; i < balance.size(); ++i)
    off = std::max(off, std::fabs(balance[i] - static_cast<double>(load->residual()[i])));
  const double allowed = 4 * kSteps * kEpsilon * largest;
  checks.push_back({"V1", fmt::format("gradients = payloads + residual over {} steps", kSteps), off <= allowed,
                    fmt::format("off by {:.2g}, allowed {:.2g}", off, allowed)});
  if (selects(subject.traits.kind))
    checks.push_back({"V1", "the residual of what was sent is exactly zero", not_zero == 0,
                      fmt::format("{} entries are not", not_zero)});
}

// Fresh loads, one and two threads: the same payloads and the same sums, bit for bit. Factors of a low rank are sums
// over threads, so those are compared with one thread only.
void check_repeatable(const Subject& subject, std::vector<Check>& checks) {
  Gathered again("V9", "the same payloads and sums again, on one thread and on two");
  const std::vector<float> first = normal_numbers(70'001, 41), second = normal_numbers(70'001, 42);
  const auto two_steps = [&](int threads) {
    LoadOptions options = subject.options;
    options.threads = threads;
    const std::unique_ptr<Load> load = subject.make(options);
    Run run;
    if (const Result<void> prepared = load->prepare(70'001, 5); !prepared) run.error = prepared.error().message();
    if (!run.error.empty()) return run;
    load->reserve(run.payload);
    load->compress(first, run.payload);
    load->compress(second, run.payload);
    run.decoded.resize(first.size());
    const std::vector<const Payload*> ranks(3, &run.payload);
    load->decompress(ranks, run.decoded);
    return run;
  };
  const Run one = two_steps(1);
  for (const int threads : {1, 2}) {
    if (threads == 2 && subject.traits.kind == LoadKind::low_rank) continue;
    const Run other = two_steps(threads);
    again.expect(one.error.empty() && same_payload(one.payload, other.payload) && one.decoded == other.decoded,
                 fmt::format("{} threads {}", threads, other.error));
  }
  again.add_to(checks);
}

void check_low_rank(const Subject& subject, std::vector<Check>& checks) {
  if (subject.traits.kind != LoadKind::low_rank) return;
  constexpr std::int64_t kRows = 60, kColumns = 60;
  const int rank = subject.options.rank;
  std::vector<float> matrix(kRows * kColumns);
  for (int r = 0; r < rank; ++r) {
    const std::vector<float> left = normal_numbers(kRows, 60 + static_cast<std::uint64_t>(r));
    const std::vector<float> right = normal_numbers(kColumns, 80 + static_cast<std::uint64_t>(r));
    for (std::size_t i = 0; i < matrix.size(); ++i) matrix[i] += left[i / kColumns] * right[i % kColumns];
  }
  LoadOptions options = subject.options;
  options.feedback = Feedback::none;
  const Run run = run_once(subject, options, matrix);
  const double error = std::sqrt(squared_distance(matrix, run.decoded) / dot(matrix, matrix));
  checks.push_back({"V7", fmt::format("a matrix of rank {} is reproduced", rank), error < 1e-5,
                    fmt::format("relative error {:.2g}, allowed 1e-5", error)});
  double off = 0;
  const auto values = run.payload.values.span();
  for (int a = 0; a < rank; ++a)
    for (int b = 0; b <= a; ++b) {
      const auto column = [&](int c) { return values.subspan(static_cast<std::size_t>(c) * kRows, kRows); };
      off = std::max(off, std::fabs(dot(column(a), column(b)) - (a == b ? 1.0 : 0.0)));
    }
  checks.push_back({"V7", "columns of the first factor are orthonormal", off < 1e-5,
                    fmt::format("off by {:.2g}, allowed 1e-5", off)});
}

}  // namespace gradsync::verify_parts
