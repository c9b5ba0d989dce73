// Answers about cliffs as people read them, and the command that would decide an open one.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analyzers/cliff_answers.h"
#include "src/base/units.h"

namespace gradsync {
namespace {

// As options of the command take them: 8K, 64M.
std::string option_bytes(std::int64_t bytes) {
  for (const auto& [factor, letter] : {std::pair{1LL << 30, "G"}, std::pair{1LL << 20, "M"}, std::pair{1LL << 10, "K"}})
    if (bytes >= factor && bytes % factor == 0) return std::to_string(bytes / factor) + letter;
  return std::to_string(bytes);
}

}  // namespace

std::string span_of(const CliffAnswer& answer) {
  return format_bytes(static_cast<double>(answer.from)) + " … " + format_bytes(static_cast<double>(answer.to));
}

std::string proof_of(const CliffAnswer& answer) {
  return "gradsync-doctor sweep --op " + answer.operation + " --min " +
         option_bytes(std::max(answer.from / 4, answer.least)) + " --max " +
         option_bytes(std::min(answer.until * 4, answer.most)) + " --repeat 20";
}

std::string sentence_of(const CliffAnswer& answer) {
  const std::string drop = std::isfinite(answer.drop) ? format_percent(100 * answer.drop) : "";
  const std::string cause = answer.cause.text.empty() ? "" : "; " + answer.cause.text;
  if (answer.answer == "cliff" || answer.answer == "cache-capacity")
    return fmt::format("{} at {}: bandwidth drops by {} ({} … {}), p {:.2g}{}", answer.answer, span_of(answer), drop,
                       format_percent(100 * answer.p05), format_percent(100 * answer.p95), answer.p_value, cause);
  if (answer.answer == "suspected")
    return fmt::format("suspected at {}: bandwidth drops by {} in {} columns, which prove nothing{}", span_of(answer),
                       drop, answer.n, cause);
  if (answer.answer == "unstable")
    return "unstable from " + span_of(answer) + ": the same call jumps four-fold or more";
  if (answer.answer == "no cliff") return "no cliff ≥ " + drop + " from " + span_of(answer);
  if (static_cast<std::size_t>(answer.n) < kFewestRepeats)
    return "undecided: too few times for each size to prove or exclude one";
  return drop.empty() ? "undecided: too noisy to exclude even large ones"
                      : "undecided at " + span_of(answer) + ": a drop of " + drop + " is neither proved nor excluded";
}

}  // namespace gradsync
