#include "analyzers/suspect_cliffs.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "src/base/line_fit.h"
#include "src/base/statistics.h"

namespace gradsync {
namespace {

constexpr double kSuspectedDrop = 0.25;
constexpr double kJump = 4;
constexpr std::size_t kReach = 3, kFewestSizes = 3;
constexpr double kScale = 0.02;

using Column = std::vector<LinePoint>;

Column points_above(const FabricCurve& curve, std::int64_t bytes) {
  Column points;
  for (const SizeSample& size : curve.sizes) {
    if (size.bytes <= bytes) continue;
    const double us = *median(size.us), scale = us * kScale;
    points.push_back({static_cast<double>(size.bytes), us, 1 / (scale * scale)});
  }
  return points;
}

// By how much the bandwidth at size `at` lies below the best that the fit of all smaller ones has within reach.
double drop_at(const Column& column, std::size_t at) {
  const auto smaller = fit_segments(std::span(column).first(at));
  double cheapest = INFINITY;
  for (const FittedSegment& segment : smaller)
    for (std::size_t i = std::max(segment.first, at < kReach ? 0 : at - kReach); i <= segment.last; ++i)
      cheapest = std::min(cheapest, segment.line.at(column[i].x) / column[i].x);
  return 1 - cheapest / (column[at].y / column[at].x);
}

std::optional<UnstableSizes> find_unstable(const std::vector<FabricCurve>& columns) {
  std::map<std::int64_t, std::pair<double, double>> extremes;
  for (const FabricCurve& curve : columns)
    for (const SizeSample& size : curve.sizes)
      for (const double us : size.us) {
        const auto [entry, added] = extremes.try_emplace(size.bytes, us, us);
        entry->second = {std::min(entry->second.first, us), std::max(entry->second.second, us)};
      }
  UnstableSizes found;
  int jumps = 0;
  for (const auto& [bytes, times] : extremes) {
    const double ratio = times.second / times.first;
    if (ratio < kJump) continue;
    if (jumps++ == 0) found.from_bytes = bytes;
    found.to_bytes = bytes;
    found.jump = std::max(found.jump, ratio);
  }
  return jumps >= 2 ? std::optional(found) : std::nullopt;
}

struct Votes {
  std::int64_t before = 0, seen = 0, dropped = 0;
  double least = 1;
};

}  // namespace

LogAnswer suspect_cliffs(const std::vector<FabricCurve>& columns) {
  LogAnswer answer;
  answer.unstable = find_unstable(columns);
  std::map<std::int64_t, Votes> by_size;
  for (const FabricCurve& curve : columns) {
    const Column column = points_above(curve, answer.unstable ? answer.unstable->to_bytes : 0);
    for (std::size_t at = kFewestSizes; at < column.size(); ++at) {
      Votes& votes = by_size[static_cast<std::int64_t>(column[at].x)];
      votes.before = std::max(votes.before, static_cast<std::int64_t>(column[at - 1].x));
      ++votes.seen;
      const double drop = drop_at(column, at);
      if (drop < kSuspectedDrop) continue;
      ++votes.dropped;
      votes.least = std::min(votes.least, drop);
    }
  }
  bool inside = false;
  for (const auto& [bytes, votes] : by_size) {
    const bool suspected = votes.dropped >= 2 && 2 * votes.dropped >= votes.seen;
    if (suspected && inside) {
      answer.suspected.back().until_bytes = bytes;
      answer.suspected.back().drop = std::max(answer.suspected.back().drop, votes.least);
    } else if (suspected) {
      answer.suspected.push_back({votes.before, bytes, bytes, votes.least, votes.dropped});
    }
    inside = suspected;
  }
  return answer;
}

}  // namespace gradsync
