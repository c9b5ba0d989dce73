#include "src/report/parts/sweep_groups.h"

#include <algorithm>

#include "src/base/text.h"

namespace gradsync {
namespace {

constexpr std::string_view kPrefix = "sweep.";

bool same_measurement(const SweepGroup& group, const SeriesRow& row) {
  return group.type == row.text("type") && group.load == row.text("load") && group.source == row.text("source") &&
         group.ranks == row.number("ranks");
}

}  // namespace

std::vector<SweepGroup> sweep_groups(const Report& report) {
  std::vector<SweepGroup> groups;
  for (const auto& [name, series] : report.series) {
    if (!name.starts_with(kPrefix)) continue;
    const std::size_t first = groups.size();
    for (const SeriesRow& row : rows_of(series)) {
      const auto group = std::find_if(groups.begin() + static_cast<std::ptrdiff_t>(first), groups.end(),
                                      [&](const SweepGroup& one) { return same_measurement(one, row); });
      if (group != groups.end())
        group->rows.push_back(row);
      else
        groups.push_back({name.substr(kPrefix.size()),
                          row.text("type"),
                          row.text("load"),
                          row.text("source"),
                          row.number("ranks"),
                          {row}});
    }
  }
  return groups;
}

std::vector<SeriesRow> rows_about(const Report& report, std::string_view series, const SweepGroup& group) {
  std::vector<SeriesRow> about;
  for (const SeriesRow& row : rows_of(report, series)) {
    const std::string source = row.text("source");
    if (row.text("operation") == group.operation && row.text("type") == group.type && row.text("load") == group.load &&
        (source.empty() || source == group.source))
      about.push_back(row);
  }
  return about;
}

std::string heading_of(const SweepGroup& group) {
  std::string text = join_words(group.operation, group.type);
  if (!group.load.empty()) text += ", beside " + group.load;
  return text;
}

}  // namespace gradsync
