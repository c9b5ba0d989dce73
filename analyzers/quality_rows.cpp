#include "analyzers/quality_rows.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "src/timeline/rank_timeline.h"

namespace gradsync {

void summarise_quality(const RankTimeline& rank, Summary& summary) {
  std::int64_t number = 0;
  for (const Event& event : rank.events) {
    if (event.kind != Kind::mark || event.source != Source::torch_hook) continue;
    const std::string_view name = rank.name(event);
    if (!name.starts_with("quality.")) continue;
    Series& table = summary.table(kQualityTable, {"rank", "event", "mark", "group", "pass", "bytes", "key", "value"});
    ++number;
    const auto add = [&](const std::string& key, std::int64_t value) {
      table.rows.push_back({std::int64_t{rank.rank}, number, std::string(name), std::string(rank.name(event.group)),
                            std::int64_t{event.sequence}, event.bytes, key, value});
    };
    const auto found = rank.integers.find(event.reference);
    if (found == rank.integers.end() || found->second.empty()) {
      add("", 0);
      continue;
    }
    for (const auto& [key, value] : found->second) add(std::string(rank.name(key)), value);
  }
}

std::optional<double> QualityMark::value(const std::string& key, double scale) const {
  const auto found = numbers.find(key);
  if (found == numbers.end()) return std::nullopt;
  return static_cast<double>(found->second) / scale;
}

std::vector<QualityMark> quality_marks(const Summary& summary, std::string_view name) {
  const Series* table = summary.find(kQualityTable);
  if (table == nullptr) return {};
  std::map<std::pair<std::int64_t, std::int64_t>, QualityMark> found;
  for (const auto& row : table->rows) {
    if (std::get<std::string>(row[2]) != name) continue;
    const auto number = [&row](std::size_t at) { return std::get<std::int64_t>(row[at]); };
    QualityMark& mark = found[{number(0), number(1)}];
    mark.rank = static_cast<int>(number(0));
    mark.group = std::get<std::string>(row[3]);
    mark.pass = number(4);
    mark.bytes = number(5);
    if (const auto& key = std::get<std::string>(row[6]); !key.empty()) mark.numbers[key] = number(7);
  }
  std::vector<QualityMark> marks;
  marks.reserve(found.size());
  for (auto& [where, mark] : found) marks.push_back(std::move(mark));
  return marks;
}

double kept_energy(double density) {
  if (density >= 1) return 1;
  if (density <= 0) return 0;
  double low = 0, high = 40;  // Q falls with z
  for (int i = 0; i < 200; ++i) {
    const double z = (low + high) / 2;
    (0.5 * std::erfc(z / std::sqrt(2.0)) > density / 2 ? low : high) = z;
  }
  const double z = (low + high) / 2;
  const double phi = std::exp(-z * z / 2) / std::sqrt(2 * std::acos(-1.0));
  return std::min(1.0, 2 * (z * phi + 0.5 * std::erfc(z / std::sqrt(2.0))));
}

double density_of_one(double sent_together, int ranks) {
  if (ranks <= 1 || sent_together <= 0 || sent_together >= 1) return sent_together;
  return 1 - std::pow(1 - sent_together, 1.0 / ranks);
}

}  // namespace gradsync
