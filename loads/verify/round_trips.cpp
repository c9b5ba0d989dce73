// V3: what is decoded is what was meant, for every size, and what is not finite is said.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "loads/verify/tools.h"

namespace gradsync::verify_parts {
namespace {

constexpr double kEpsilon = 0x1p-23;

// Largest error over the allowed one.
double cast_excess(const LoadTraits& traits, std::span<const float> x, std::span<const float> decoded) {
  double excess = 0;
  const auto block = static_cast<std::size_t>(traits.block);
  for (std::size_t begin = 0; begin < x.size(); begin += block) {
    const auto part = x.subspan(begin, std::min(block, x.size() - begin));
    const double largest = largest_magnitude(part);
    for (std::size_t i = begin; i < begin + part.size(); ++i) {
      const double magnitude = std::fabs(static_cast<double>(x[i]));
      const double allowed =
          std::max({traits.relative_error * magnitude, traits.block_error * largest, traits.absolute_error, 0x1p-133});
      const double error = std::fabs(static_cast<double>(x[i]) - static_cast<double>(decoded[i]));
      excess = std::max(excess, std::isnan(error) ? std::numeric_limits<double>::infinity() : error / allowed);
    }
  }
  return excess;
}

// One magnitude in each block, the mean; negative where the number is.
bool decodes_to_signs(const LoadTraits& traits, std::span<const float> x, std::span<const float> decoded) {
  const auto block = static_cast<std::size_t>(traits.block);
  for (std::size_t begin = 0; begin < x.size(); begin += block) {
    const std::size_t end = std::min(x.size(), begin + block);
    double sum = 0;
    for (std::size_t i = begin; i < end; ++i) sum += std::fabs(static_cast<double>(x[i]));
    const double mean = sum / static_cast<double>(end - begin);
    for (std::size_t i = begin; i < end; ++i) {
      if (std::fabs(std::fabs(static_cast<double>(decoded[i])) - mean) > 1e-5 * mean + 1e-44) return false;
      if (x[i] < 0 ? decoded[i] > 0 : decoded[i] < 0) return false;
    }
  }
  return true;
}

// Off by less than one level of its block's length.
bool within_a_level(const Subject& subject, std::span<const float> x, std::span<const float> decoded) {
  const auto block = static_cast<std::size_t>(subject.traits.block);
  for (std::size_t begin = 0; begin < x.size(); begin += block) {
    const auto part = x.subspan(begin, std::min(block, x.size() - begin));
    const double level = std::sqrt(dot(part, part)) / subject.options.levels;
    for (std::size_t i = begin; i < begin + part.size(); ++i)
      if (!(std::fabs(static_cast<double>(x[i]) - static_cast<double>(decoded[i])) <= level * (1 + 1e-5) + 0x1p-126))
        return false;
  }
  return true;
}

bool is_what_was_sent(const Subject& subject, const Payload& payload, std::span<const float> x,
                      std::span<const float> decoded) {
  switch (subject.traits.kind) {
    case LoadKind::sign:
      return decodes_to_signs(subject.traits, x, decoded);
    case LoadKind::cast:
      return cast_excess(subject.traits, x, decoded) <= 1;
    case LoadKind::server:
      return std::equal(x.begin(), x.end(), decoded.begin(), decoded.end());
    case LoadKind::exact_selection:
    case LoadKind::threshold_selection:
    case LoadKind::decoder: {
      std::vector<float> dense(x.size());
      for (std::int64_t i = 0; i < payload.indices.size(); ++i) dense[payload.indices[i]] = payload.values[i];
      return std::equal(dense.begin(), dense.end(), decoded.begin(), decoded.end());
    }
    case LoadKind::random_selection: {
      const auto kept = std::count_if(decoded.begin(), decoded.end(), [](float value) { return value != 0; });
      return kept <= selected_count(subject.options.ratio, static_cast<std::int64_t>(x.size()));
    }
    case LoadKind::stochastic:
      return within_a_level(subject, x, decoded);
    case LoadKind::low_rank:
      break;
  }
  return std::all_of(decoded.begin(), decoded.end(), [](float value) { return std::isfinite(value); });
}

// Decoding three ranks together is decoding each and adding; a server that applies each push follows its own recurrence.
void check_sum_of_ranks(const Subject& subject, std::vector<Check>& checks) {
  Gathered sum("V3", "the sum of three ranks is decoded");
  for (const std::int64_t n : {std::int64_t{0}, std::int64_t{33}, std::int64_t{70'001}}) {
    std::vector<Run> runs;
    std::vector<double> expected(static_cast<std::size_t>(n)), velocity(static_cast<std::size_t>(n));
    for (std::uint64_t rank = 0; rank < 3; ++rank) {
      runs.push_back(run_once(subject, subject.options, normal_numbers(n, 20 + rank)));
      for (std::size_t i = 0; i < expected.size(); ++i) {
        const auto value = static_cast<double>(runs.back().decoded[i]);
        const bool each = subject.traits.kind == LoadKind::server && subject.options.merge == Merge::apply_each;
        velocity[i] = each ? 0.9 * velocity[i] + value : value;
        expected[i] += velocity[i];
      }
    }
    const std::unique_ptr<Load> load = subject.make(subject.options);
    if (!load->prepare(n, 5)) continue;
    const std::vector<const Payload*> payloads{&runs[0].payload, &runs[1].payload, &runs[2].payload};
    std::vector<float> decoded(static_cast<std::size_t>(n), 77.0F);
    load->decompress(payloads, decoded);
    double largest = 0, error = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      largest = std::max(largest, std::fabs(expected[i]));
      error = std::max(error, std::fabs(expected[i] - static_cast<double>(decoded[i])));
    }
    sum.expect(error <= 16 * kEpsilon * largest, fmt::format("{}: off by {:g}, largest {:g}", n, error, largest));
  }
  sum.add_to(checks);
}

// Of a load whose chunks have scales of their own, the chunk that holds `place`; else everything.
bool same_block(const LoadTraits& traits, std::span<const float> before, std::span<const float> after,
                std::int64_t place) {
  std::size_t begin = 0, end = before.size();
  if (traits.kind == LoadKind::sign) {
    begin = static_cast<std::size_t>(place / traits.block * traits.block);
    end = std::min(end, begin + static_cast<std::size_t>(traits.block));
  }
  return std::equal(before.begin() + static_cast<std::ptrdiff_t>(begin),
                    before.begin() + static_cast<std::ptrdiff_t>(end),
                    after.begin() + static_cast<std::ptrdiff_t>(begin));
}

}  // namespace

void check_round_trips(const Subject& subject, std::vector<Check>& checks) {
  Gathered trip("V3", "decoded is what was sent, for every size and input");
  LoadOptions options = subject.options;
  options.feedback = Feedback::none;
  for (const std::int64_t n : sizes())
    for (const Input& input : inputs_of(n)) {
      const bool too_large = subject.traits.absolute_error > 0 && largest_magnitude(input.values) > 65504;
      if (too_large) continue;  // fp16 has no such numbers: check_not_finite
      const Run run = run_once(subject, options, input.values);
      const std::string at = fmt::format("{} {}", n, input.name);
      trip.expect(run.error.empty() && !run.payload.not_finite && run.payload.elements == n &&
                      is_what_was_sent(subject, run.payload, input.values, run.decoded),
                  at + run.error);
    }
  trip.add_to(checks);
  check_sum_of_ranks(subject, checks);
}

void check_not_finite(const Subject& subject, std::vector<Check>& checks) {
  if (subject.traits.kind == LoadKind::random_selection) return;  // it sends what it draws
  Gathered flag("V3", "NaN and infinity are flagged, and decode to what is not finite");
  Gathered kept("V3", "a step that is not finite leaves no trace in the residual");
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const float bad : {kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN()})
    for (const std::int64_t n : {std::int64_t{1}, std::int64_t{100}, std::int64_t{70'001}}) {
      std::vector<float> x = normal_numbers(n, 31);
      x[static_cast<std::size_t>(n / 2)] = bad;
      LoadOptions options = subject.options;
      if (options.feedback == Feedback::none && subject.traits.kind != LoadKind::decoder &&
          subject.traits.kind != LoadKind::server)
        options.feedback = Feedback::residual;
      const Run run = run_once(subject, options, x);
      flag.expect(run.payload.not_finite &&
                      std::any_of(run.decoded.begin(), run.decoded.end(), [](float v) { return !std::isfinite(v); }),
                  fmt::format("{} among {}", bad, n));
      const std::unique_ptr<Load> load = subject.make(options);
      Payload payload;
      if (!load->prepare(n, 5) || load->residual().empty()) continue;
      load->reserve(payload);
      load->compress(normal_numbers(n, 32), payload);
      const std::vector<float> before(load->residual().begin(), load->residual().end());
      load->compress(x, payload);
      kept.expect(same_block(subject.traits, before, load->residual(), n / 2), fmt::format("{} among {}", bad, n));
    }
  flag.add_to(checks);
  kept.add_to(checks);
}

}  // namespace gradsync::verify_parts
