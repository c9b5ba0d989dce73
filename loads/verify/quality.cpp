// V4: the error contracts. V5: unbiased. V6: closed forms on normal numbers.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "loads/verify/tools.h"

namespace gradsync::verify_parts {
namespace {

constexpr double kPi = 3.14159265358979323846;

double upper_tail(double z) { return std::erfc(z / std::sqrt(2.0)) / 2; }

// Share of the squared length that the largest `share` of normal numbers by magnitude holds, and from there the cosine
// between the vector and what was selected: with z where 2 Q(z) = share, E[x²; |x| > z] = 2 (z φ(z) + Q(z)).
double cosine_of_largest(double share) {
  double low = 0, high = 40;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (2 * upper_tail(middle) > share ? low : high) = middle;
  }
  const double density = std::exp(-low * low / 2) / std::sqrt(2 * kPi);
  return std::sqrt(2 * (low * density + upper_tail(low)));
}

double cosine(std::span<const float> x, std::span<const float> y) {
  return dot(x, y) / std::sqrt(dot(x, x) * dot(y, y));
}

// Least share of the squared length that is kept for sure.
double kept_share(const LoadTraits& traits, const Run& run, std::span<const float> x) {
  if (selects(traits.kind)) return static_cast<double>(run.payload.indices.size()) / static_cast<double>(x.size());
  if (traits.kind != LoadKind::sign) return 0;
  // Of each block (Σ|x|)² / count: what the mean as scale keeps.
  double kept = 0;
  const auto block = static_cast<std::size_t>(traits.block);
  for (std::size_t begin = 0; begin < x.size(); begin += block) {
    const auto part = x.subspan(begin, std::min(block, x.size() - begin));
    double sum = 0;
    for (const float value : part) sum += std::fabs(static_cast<double>(value));
    kept += sum * sum / static_cast<double>(part.size());
  }
  return kept / dot(x, x);
}

}  // namespace

// ‖p − C(p)‖² ≤ (1 − δ) ‖p‖²; and of selections cos(p, C(p)) = ‖C(p)‖ / ‖p‖, since what is sent is sent as it is.
void check_contraction(const Subject& subject, std::vector<Check>& checks) {
  const LoadKind kind = subject.traits.kind;
  if (!selects(kind) && kind != LoadKind::sign && kind != LoadKind::cast && kind != LoadKind::low_rank) return;
  Gathered contracts("V4", "the error is shorter than the input, by the share that is kept");
  Gathered identity("V4", "cosine = length of what is sent over length of the input");
  LoadOptions options = subject.options;
  options.feedback = Feedback::none;
  for (const std::int64_t n : {std::int64_t{1000}, std::int64_t{80'003}})
    for (const Input& input : inputs_of(n)) {
      if (input.name == "zeros" || input.name == "denormals") continue;
      const Run run = run_once(subject, options, input.values);
      if (run.payload.not_finite) continue;  // beyond the type
      const double length = dot(input.values, input.values), error = squared_distance(input.values, run.decoded);
      const double kept = kept_share(subject.traits, run, input.values);
      contracts.expect(error <= (1 - kept + 1e-5) * length,
                       fmt::format("{} {}: {:g} of the squared length is lost, allowed {:g}", n, input.name,
                                   error / length, 1 - kept));
      if (!selects(kind)) continue;
      const double expected = std::sqrt(dot(run.decoded, run.decoded) / length);
      identity.expect(std::fabs(cosine(input.values, run.decoded) - expected) < 1e-6,
                      fmt::format("{} {}: {:g} and {:g}", n, input.name, cosine(input.values, run.decoded), expected));
    }
  contracts.add_to(checks);
  identity.add_to(checks);
}

void check_unbiased(const Subject& subject, std::vector<Check>& checks) {
  if (subject.traits.kind != LoadKind::stochastic && subject.traits.kind != LoadKind::random_selection) return;
  constexpr std::int64_t kElements = 67;
  constexpr int kDraws = 10'000;
  LoadOptions options = subject.options;
  options.ratio = 0.1;
  const std::unique_ptr<Load> load = subject.make(options);
  if (!load->prepare(kElements, 5)) return;
  Payload payload;
  load->reserve(payload);
  const std::vector<float> x = normal_numbers(kElements, 51);
  std::vector<float> decoded(kElements);
  std::vector<double> sum(kElements), squares(kElements);
  for (int draw = 0; draw < kDraws; ++draw) {
    load->compress(x, payload);
    const Payload* one = &payload;
    load->decompress({&one, 1}, decoded);
    for (std::size_t i = 0; i < sum.size(); ++i) {
      sum[i] += static_cast<double>(decoded[i]);
      squares[i] += static_cast<double>(decoded[i]) * static_cast<double>(decoded[i]);
    }
  }
  double worst = 0;
  for (std::size_t i = 0; i < sum.size(); ++i) {
    const double mean = sum[i] / kDraws, variance = std::max(squares[i] / kDraws - mean * mean, 0.0);
    const double sigma = std::sqrt(variance / kDraws) + 1e-6 * std::fabs(static_cast<double>(x[i]));
    worst = std::max(worst, std::fabs(mean - static_cast<double>(x[i])) / sigma);
  }
  checks.push_back({"V5", fmt::format("the mean of {} draws is the input", kDraws), worst < 4,
                    fmt::format("worst of {} elements: {:.2f} sigma, allowed 4", kElements, worst)});
}

void check_closed_forms(const Subject& subject, std::vector<Check>& checks) {
  const bool sign = subject.traits.kind == LoadKind::sign;
  if (!selects(subject.traits.kind) && !sign) return;
  constexpr std::int64_t kElements = 1 << 20;
  const std::vector<float> x = normal_numbers(kElements, 71);
  const std::array<double, 4> ratios{0.05, 0.02, 0.01, 0.001};
  for (const double ratio : std::span(ratios).first(sign ? 1 : 4)) {
    LoadOptions options = subject.options;
    options.ratio = ratio;
    options.feedback = Feedback::none;
    const Run run = run_once(subject, options, x);
    const double share = static_cast<double>(run.payload.indices.size()) / kElements;
    const double expected = sign ? std::sqrt(2 / kPi) : cosine_of_largest(share), measured = cosine(x, run.decoded);
    // Of K sums of squares the error of the cosine is below 1 / √K of it.
    const double allowed = sign ? 0.002 : expected / std::sqrt(share * kElements);
    checks.push_back({"V6",
                      sign ? "cosine of the signs of normal numbers"
                           : fmt::format("cosine at {:g} % of normal numbers", 100 * ratio),
                      std::fabs(measured - expected) < allowed,
                      fmt::format("{:.4f}, expected {:.4f} ± {:.4f}", measured, expected, allowed)});
  }
}

}  // namespace gradsync::verify_parts
