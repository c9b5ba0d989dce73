#include "src/export/trace_tracks.h"

namespace gradsync {
namespace {

constexpr std::size_t kMostRows = 32;  // of a group; what finds no row then is drawn on the last one

}  // namespace

Track TraceTracks::place(TrackGroup group, std::uint32_t number, const std::string& name, Nanoseconds start,
                         Nanoseconds end) {
  std::vector<Row>& rows = rows_[{group, number}];
  for (Row& row : rows) {
    while (!row.open.empty() && row.open.back() <= start) row.open.pop_back();
    if (!row.open.empty() && row.open.back() < end) continue;
    row.open.push_back(end);
    return {process_, row.thread};
  }
  if (rows.size() == kMostRows) return {process_, rows.back().thread};
  rows.push_back({next_thread_++, {end}});
  const Track track{process_, rows.back().thread};
  const std::string row = rows.size() == 1 ? name : name + " (" + std::to_string(rows.size()) + ")";
  text_.name_thread(track, row, static_cast<int>(group) * 100'000 + track.thread);
  return track;
}

}  // namespace gradsync
