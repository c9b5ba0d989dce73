// What the marks of run --quality say (docs/events.md), as tables that merge; and what a method is expected to keep.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/model/analyzer.h"

namespace gradsync {

class RankTimeline;

inline constexpr std::string_view kQualityTable = "quality_marks";  // rank, event, mark, group, pass, bytes, key, value

// Each number of each mark is a row; a mark without attributes is one row with an empty key.
void summarise_quality(const RankTimeline& rank, Summary& summary);

struct QualityMark {
  int rank = 0;
  std::string group;      // layer, or "all"
  std::int64_t pass = 0;  // backward passes that synchronised before it
  std::int64_t bytes = 0;
  std::map<std::string, std::int64_t> numbers;
  // numbers[key] / scale; nothing when the mark lacks it.
  std::optional<double> value(const std::string& key, double scale) const;
};
// Marks of one name, by rank and time.
std::vector<QualityMark> quality_marks(const Summary& summary, std::string_view name);

// Share of its squared norm that the largest `density` (0 … 1) of normally distributed numbers hold:
// 2 (z phi(z) + Q(z)) with Q(z) = density / 2.
double kept_energy(double density);

// Share that one rank selects, of what `ranks` ranks selected together, as if by independent choice.
double density_of_one(double sent_together, int ranks);

}  // namespace gradsync
