// V2: the right entries are selected. V8: histograms count everything.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "loads/verify/tools.h"

namespace gradsync::verify_parts {
namespace {

std::uint32_t magnitude_of(float x) { return std::bit_cast<std::uint32_t>(x) & 0x7fffffff; }

// The oracle: everything sorted, the largest first, equal ones by index.
std::vector<std::uint32_t> largest(const std::vector<float>& x, std::int64_t count) {
  std::vector<std::uint32_t> order(x.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&x](std::uint32_t a, std::uint32_t b) { return magnitude_of(x[a]) > magnitude_of(x[b]); });
  order.resize(static_cast<std::size_t>(count));
  std::sort(order.begin(), order.end());
  return order;
}

bool carries_its_values(const Payload& payload, const std::vector<float>& x) {
  if (payload.indices.size() != payload.values.size()) return false;
  for (std::int64_t i = 0; i < payload.indices.size(); ++i) {
    const std::uint32_t index = payload.indices[i];
    if (index >= x.size() || (i > 0 && payload.indices[i - 1] >= index)) return false;
    if (std::bit_cast<std::uint32_t>(payload.values[i]) != std::bit_cast<std::uint32_t>(x[index])) return false;
  }
  return true;
}

// Nothing that was left is larger than anything that was taken. Expects ascending indices.
bool takes_the_largest(const Payload& payload, const std::vector<float>& x) {
  std::uint32_t taken = 0xffffffff, left = 0;
  std::int64_t next = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const bool mine = next < payload.indices.size() && payload.indices[next] == i;
    if (mine) taken = std::min(taken, magnitude_of(x[i]));
    if (!mine) left = std::max(left, magnitude_of(x[i]));
    next += mine ? 1 : 0;
  }
  return next == payload.indices.size() && (next == 0 || taken >= left);
}

}  // namespace

void check_selection(const Subject& subject, std::vector<Check>& checks) {
  if (!selects(subject.traits.kind)) return;
  const bool exact = subject.traits.kind == LoadKind::exact_selection;
  Gathered values("V2", "selected entries carry their own values, indices ascend");
  Gathered chosen("V2",
                  exact ? "the K largest, ties by the lowest index" : "nothing left out is larger than what is sent");
  Gathered count("V2", exact ? "exactly K"
                             : fmt::format("{:g} K to {:g} K", subject.traits.least_count, subject.traits.most_count));
  Gathered bins("V8", "bins of the histogram add up to its elements");
  for (const std::int64_t n : sizes())
    for (const Input& input : inputs_of(n))
      for (const double ratio : {0.001, 0.02, 0.3, 1.0}) {
        LoadOptions options = subject.options;
        options.ratio = ratio;
        options.feedback = Feedback::none;
        const Run run = run_once(subject, options, input.values);
        const std::string at = fmt::format("{} {} at {:g} %", n, input.name, 100 * ratio);
        const auto wanted = static_cast<double>(selected_count(ratio, n));
        const auto sent = static_cast<double>(run.payload.indices.size());
        values.expect(run.error.empty() && carries_its_values(run.payload, input.values), at + run.error);
        count.expect(sent >= std::ceil(subject.traits.least_count * wanted) &&
                         sent <= std::max(wanted, subject.traits.most_count * wanted),
                     fmt::format("{}: {} of {}", at, sent, wanted));
        if (exact) {
          const auto oracle = largest(input.values, selected_count(ratio, n));
          const auto indices = run.payload.indices.span();
          chosen.expect(std::equal(oracle.begin(), oracle.end(), indices.begin(), indices.end()), at);
        } else {
          chosen.expect(takes_the_largest(run.payload, input.values), at);
        }
        if (run.histogram && n > 0)
          bins.expect(run.histogram->elements == run.histogram->in_bins,
                      fmt::format("{}: {} of {}", at, run.histogram->in_bins, run.histogram->elements));
      }
  for (const Gathered* gathered : {&values, &chosen, &count, &bins}) gathered->add_to(checks);
}

}  // namespace gradsync::verify_parts
