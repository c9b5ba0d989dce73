// The rows of a size sweep that belong into one table and one curve: one operation, type, load and source.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/model/report.h"
#include "src/model/series_table.h"

namespace gradsync {

struct SweepGroup {
  std::string operation, type, load, source;
  std::optional<double> ranks;
  std::vector<SeriesRow> rows;  // refer to the report
};

// From all series sweep.<op>, in their order.
std::vector<SweepGroup> sweep_groups(const Report& report);

// Rows of another series (fabric_fit, fabric_cliffs) about the same measurements. A column that it does not have, and
// an empty source, speak of all.
std::vector<SeriesRow> rows_about(const Report& report, std::string_view series, const SweepGroup& group);

// "all_reduce float", and what else tells it from others: ", beside …"
std::string heading_of(const SweepGroup& group);

}  // namespace gradsync
