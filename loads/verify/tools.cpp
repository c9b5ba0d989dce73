#include "loads/verify/tools.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "loads/philox.h"

namespace gradsync::verify_parts {

std::vector<float> normal_numbers(std::int64_t n, std::uint64_t seed) {
  std::vector<float> numbers(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < numbers.size(); i += 4) {
    const auto drawn = normals(seed, i / 4);
    std::copy_n(drawn.begin(), std::min<std::size_t>(4, numbers.size() - i), numbers.data() + i);
  }
  return numbers;
}

std::vector<Input> inputs_of(std::int64_t n) {
  const std::vector<float> normal = normal_numbers(n, 11), other = normal_numbers(n, 12);
  std::vector<Input> inputs{{"normal", normal}, {"of many sizes", normal}, {"of one size", normal},
                            {"zeros", normal},  {"denormals", normal},     {"a single one", normal}};
  for (std::size_t i = 0; i < normal.size(); ++i) {
    inputs[1].values[i] = normal[i] * std::exp(4 * other[i]);
    inputs[2].values[i] = std::copysign(0.5F, normal[i]);
    inputs[3].values[i] = std::copysign(0.0F, normal[i]);
    inputs[4].values[i] = normal[i] * 1e-40F;
    inputs[5].values[i] = i == normal.size() / 2 ? -3.0F : 0.0F;
  }
  return inputs;
}

std::vector<std::int64_t> sizes() { return {0, 1, 2, 31, 32, 33, 63, 65, 127, 129, 511, 1000, 16385, 80'003}; }

Run run_once(const Subject& subject, const LoadOptions& options, std::span<const float> x) {
  Run run;
  const std::unique_ptr<Load> load = subject.make(options);
  if (const Result<void> prepared = load->prepare(static_cast<std::int64_t>(x.size()), 5); !prepared) {
    run.error = prepared.error().message();
    return run;
  }
  load->reserve(run.payload);
  load->compress(x, run.payload);
  run.histogram = load->histogram();
  run.decoded.resize(x.size(), 77.0F);  // what the decoder leaves out shows
  const Payload* payload = &run.payload;
  load->decompress({&payload, 1}, run.decoded);
  return run;
}

double dot(std::span<const float> x, std::span<const float> y) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += static_cast<double>(x[i]) * static_cast<double>(y[i]);
  return sum;
}

double squared_distance(std::span<const float> x, std::span<const float> y) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double difference = static_cast<double>(x[i]) - static_cast<double>(y[i]);
    sum += difference * difference;
  }
  return sum;
}

double largest_magnitude(std::span<const float> x) {
  double largest = 0;
  for (const float value : x) largest = std::max(largest, std::fabs(static_cast<double>(value)));
  return largest;
}

bool same_payload(const Payload& a, const Payload& b) {
  const auto same = [](const auto& x, const auto& y) {
    return x.size() == y.size() && (x.size() == 0 || std::memcmp(x.data(), y.data(), x.span().size_bytes()) == 0);
  };
  return same(a.indices, b.indices) && same(a.values, b.values) && same(a.codes, b.codes) &&
         a.not_finite == b.not_finite;
}

bool selects(LoadKind kind) { return kind == LoadKind::exact_selection || kind == LoadKind::threshold_selection; }

void Gathered::add_to(std::vector<Check>& checks) const {
  if (cases_ == 0) return;
  checks.push_back(check_);
  if (check_.passed) checks.back().measured = fmt::format("{} cases", cases_);
}

}  // namespace gradsync::verify_parts

namespace gradsync {

std::vector<Check> verify(const MakeLoad& make, const LoadOptions& options) {
  using namespace verify_parts;
  const Subject subject{make, options, make(options)->traits()};
  std::vector<Check> checks;
  for (const auto& part : {check_feedback, check_selection, check_round_trips, check_not_finite, check_contraction,
                           check_unbiased, check_closed_forms, check_low_rank, check_repeatable})
    part(subject, checks);
  return checks;
}

}  // namespace gradsync
