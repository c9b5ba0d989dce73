#include "analyzers/cliff_cause.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "src/base/units.h"
#include "src/model/series_table.h"

namespace gradsync {
namespace {

constexpr double kSameSize = 1.5;  // a choice speaks for sizes within this factor

struct Choice {
  std::string words;
  double off = 0, count = 0;
};

std::string word(const SeriesTable& table, const std::vector<Cell>& row, const char* column) {
  if (const auto number = table.number(row, column)) return std::to_string(static_cast<int>(*number));
  return table.text(row, column);
}

// What was chosen for the size nearest to `bytes`, the most often.
std::optional<Choice> choice_at(const Series& choices, const std::string& operation, double bytes) {
  const SeriesTable table(choices);
  std::optional<Choice> best;
  for (const auto& row : table.rows()) {
    const double size = table.number(row, "bytes").value_or(0);
    if (table.text(row, "operation") != operation || size <= 0) continue;
    const Choice one{word(table, row, "algorithm") + "/" + word(table, row, "protocol"),
                     std::abs(std::log(size / bytes)), table.number(row, "count").value_or(0)};
    if (one.off > std::log(kSameSize)) continue;
    if (!best || one.off < best->off || (one.off == best->off && one.count > best->count)) best = one;
  }
  return best;
}

// Between the sizes the buffers outgrow a cache of `cache` bytes.
bool outgrows(double cache, double from_bytes, double to_bytes, double sharing) {
  return cache > 0 && from_bytes < cache && 2 * sharing * to_bytes > cache && 2 * sharing * from_bytes <= 2 * cache;
}

}  // namespace

Cause cause_of(const Inputs& inputs, const FabricCurve& curve, std::int64_t from_bytes, std::int64_t to_bytes) {
  const auto from = static_cast<double>(from_bytes), to = static_cast<double>(to_bytes);
  if (const auto choices = inputs.series.find("nccl_choices"); choices != inputs.series.end()) {
    const auto before = choice_at(choices->second, curve.operation, from);
    const auto behind = choice_at(choices->second, curve.operation, to);
    if (before && behind && before->words != behind->words)
      return {"tuning", "NCCL switches from " + before->words + " to " + behind->words + " there"};
    if (before && behind) return {"fabric", "NCCL uses " + before->words + " on both sides"};
  }
  const auto backend = inputs.facts.find("backend");
  if (backend == inputs.facts.end() || backend->second != "gloo" || !curve.live()) return {};
  // Ranks on one host share its last cache. How many they are the sweep says; all of them at most.
  const double told = fact_number(inputs.facts, "sweep.ranks_per_host");
  const double sharing = std::max(1.0, told > 0 ? told : std::isfinite(curve.ranks) ? curve.ranks : 1);
  for (const auto& [name, words, shared] :
       {std::tuple{"host.l2_bytes", "level-2", 1.0}, std::tuple{"host.l3_bytes", "level-3", sharing}})
    if (const double cache = fact_number(inputs.facts, name); outgrows(cache, from, to, shared))
      return {"cache", "the buffers outgrow the " + std::string(words) + " cache of " + format_bytes(cache) + " there"};
  return {"fabric", ""};
}

}  // namespace gradsync
