#include "src/timeline/match_collectives.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "src/base/statistics.h"

namespace gradsync {
namespace {

constexpr std::int64_t kFarthestShift = 256;  // profilers of one job start within a few steps of each other
constexpr std::size_t kPairsLookedAt = 128;   // enough to tell a right shift from a wrong one
constexpr Nanoseconds kLatest = 4'000'000'000'000'000'000;  // differences of stamps up to it do not overflow
constexpr double kFewestThatAgree = 0.95;                   // of the operations at a shift

struct Entry {
  std::uint32_t event = 0;
  std::uint32_t sequence = 0;
  Interval time;
  std::string_view operation;
  std::int64_t bytes = 0;
  std::int64_t step = -1;
};

// One rank's collectives of one channel, in order of their start.
struct Track {
  std::uint32_t rank = 0;
  NameId group = NameId::none;
  std::int64_t group_size = 0;  // 0 = not told
  std::vector<Entry> entries;

  bool numbered() const {
    for (std::size_t i = 1; i < entries.size(); ++i)
      if (entries[i].sequence <= entries[i - 1].sequence) return false;
    return entries.size() > 1 || (entries.size() == 1 && entries[0].sequence > 0);
  }
};

constexpr std::string_view kBackward = "backward";  // channel of backward's ends

Ends ends_of(std::string_view operation) {
  return operation == "all_reduce" || operation == "all_gather" || operation == "barrier" ? Ends::together
                                                                                          : Ends::apart;
}

class TrackFinder {
 public:
  TrackFinder(const RankTimeline& rank, std::uint32_t index, std::map<std::string, std::vector<Track>>& channels)
      : rank_(rank), index_(index), channels_(channels) {}

  void run() {
    host_runs_ahead_ = rank_.fact("device") == "cuda";
    ddp_ = rank_.fact("framework") == "ddp";
    name_streams();
    for (std::size_t i = 0; i < rank_.events.size(); ++i) {
      const Event& event = rank_.events[i];
      if (event.kind == Kind::collective) add_collective(i, event);
      if (event.kind == Kind::range && event.source == Source::torch_hook) look_at_range(i, event);
    }
    for (auto& [channel, track] : tracks_) channels_[channel].push_back(std::move(track));
    if (!backward_.empty()) {
      Track& track = channels_[std::string(kBackward)].emplace_back();
      track.rank = index_;
      for (const auto& [step, entry] : backward_) track.entries.push_back(entry);
    }
  }

 private:
  // Ranks number their streams differently; the order of those that communicate is the same.
  void name_streams() {
    for (const Event& event : rank_.events)
      if (event.kind == Kind::collective && event.on_stream() && event.group == NameId::none)
        streams_.insert(static_cast<std::uint32_t>(event.lane));
  }

  void add_collective(std::size_t index, const Event& event) {
    // A call that only queues the work, or a host's range around it, tells neither arrival nor completion.
    if (event.has(kFlagExtrapolated) || event.source == Source::nvtx) return;
    if (event.source == Source::torch_hook && host_runs_ahead_) return;
    if (event.start < 0 || event.end <= event.start || event.end > kLatest) return;
    Track& track = tracks_[channel_of(event)];
    if (track.entries.empty()) {
      track.rank = index_;
      track.group = event.group;
      track.group_size = rank_.integer(event, "group_size").value_or(0);
    }
    track.entries.push_back({static_cast<std::uint32_t>(index),
                             event.sequence,
                             {event.start, event.end},
                             rank_.name(event),
                             event.bytes,
                             step_number(event.start)});
  }

  std::string channel_of(const Event& event) const {
    std::string channel = event.source == Source::torch_hook ? "hook " : event.on_stream() ? "device " : "host ";
    if (event.group != NameId::none) return channel + std::string(rank_.name(event.group));
    if (!event.on_stream()) return channel;
    const auto place = streams_.find(static_cast<std::uint32_t>(event.lane));
    return channel + "#" + std::to_string(std::distance(streams_.begin(), place));
  }

  // Of a plain DDP job Python sees no all-reduce before torch 2.15; but its backward returns when the last one is done.
  void look_at_range(std::size_t index, const Event& event) {
    if (event.phase == Phase::forward) synchronises_ = rank_.integer(event, "ddp_sync").value_or(1) != 0;
    if (event.phase != Phase::backward || !synchronises_ || !ddp_ || host_runs_ahead_) return;
    const Nanoseconds ready = rank_.integer(event, "compute_end_ns").value_or(0);
    const std::int64_t step = step_number(event.start);
    if (event.start < 0 || event.end > kLatest || ready <= event.start || ready > event.end || step < 0) return;
    backward_[step] = {static_cast<std::uint32_t>(index),
                       static_cast<std::uint32_t>(step + 1),
                       {ready, event.end},
                       "all_reduce",
                       0,
                       step};
  }

  std::int64_t step_number(Nanoseconds time) const {
    const auto step = rank_.step_at(time);
    return step ? rank_.steps[*step].number : -1;
  }

  const RankTimeline& rank_;
  std::uint32_t index_;
  std::map<std::string, std::vector<Track>>& channels_;
  std::set<std::uint32_t> streams_;
  std::map<std::string, Track> tracks_;
  std::map<std::int64_t, Entry> backward_;  // the last of each step
  bool host_runs_ahead_ = false;            // of its device: what the host saw says nothing about the gradients
  bool ddp_ = false;
  bool synchronises_ = true;
};

bool agree(const Entry& a, const Entry& b) {
  return a.operation == b.operation &&
         (a.bytes == b.bytes || a.bytes == 0 || b.bytes == 0 || a.operation != "all_reduce");
}

// entries[i] of `other` stands beside entries[i + shift] of `base`.
struct Shift {
  std::int64_t by = 0;
  double spread = 0;     // median deviation of the distance between ends
  double same_step = 0;  // share of pairs in steps of the same number
  double distance = 0;   // median distance between ends
};

std::optional<Shift> try_shift(const Track& base, const Track& other, std::int64_t by) {
  const auto count = [](const Track& track) { return static_cast<std::int64_t>(track.entries.size()); };
  const std::int64_t first = std::max<std::int64_t>(0, -by), last = std::min(count(other), count(base) - by);
  const std::int64_t pairs = last - first;
  if (pairs < 1 || 2 * pairs < std::min(count(base), count(other))) return std::nullopt;
  const std::int64_t stride = std::max<std::int64_t>(1, pairs / static_cast<std::int64_t>(kPairsLookedAt));
  std::vector<double> distances;
  std::int64_t agreeing = 0, same_step = 0, looked_at = 0;
  for (std::int64_t i = first; i < last; i += stride) {
    const Entry& a = base.entries[static_cast<std::size_t>(i + by)];
    const Entry& b = other.entries[static_cast<std::size_t>(i)];
    ++looked_at;
    agreeing += agree(a, b);
    same_step += a.step >= 0 && a.step == b.step;
    distances.push_back(static_cast<double>(b.time.end) - static_cast<double>(a.time.end));
  }
  if (static_cast<double>(agreeing) < kFewestThatAgree * static_cast<double>(looked_at)) return std::nullopt;
  const double distance = *median(distances);
  for (double& one : distances) one = std::abs(one - distance);
  return Shift{by, *median(distances), static_cast<double>(same_step) / static_cast<double>(looked_at), distance};
}

// Shifts that the ends cannot tell apart (even steps) are told apart by step numbers, then by the nearer clocks.
std::optional<Shift> find_shift(const Track& base, const Track& other) {
  std::vector<Shift> candidates;
  const auto most = static_cast<std::int64_t>(std::max(base.entries.size(), other.entries.size()));
  const std::int64_t farthest = std::min(kFarthestShift, most);
  for (std::int64_t by = -farthest; by <= farthest; ++by)
    if (const auto shift = try_shift(base, other, by)) candidates.push_back(*shift);
  if (candidates.empty()) return std::nullopt;
  const double best = std::min_element(candidates.begin(), candidates.end(), [](const Shift& a, const Shift& b) {
                        return a.spread < b.spread;
                      })->spread;
  std::erase_if(candidates, [best](const Shift& one) { return one.spread > 2 * best + 10'000; });
  return *std::min_element(candidates.begin(), candidates.end(), [](const Shift& a, const Shift& b) {
    if (a.same_step != b.same_step) return a.same_step > b.same_step;
    if (std::abs(a.distance) != std::abs(b.distance)) return std::abs(a.distance) < std::abs(b.distance);
    return std::abs(a.by) < std::abs(b.by);
  });
}

std::optional<std::int64_t> world_size(const RankTimeline& rank) {
  const std::string text = rank.fact("world_size");
  std::int64_t size = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), size);
  if (parsed.ec != std::errc{} || size < 1) return std::nullopt;
  return size;
}

class ChannelMatcher {
 public:
  ChannelMatcher(const std::vector<RankTimeline>& ranks, std::string_view channel, const std::vector<Track>& tracks,
                 CollectiveMatching& result)
      : ranks_(ranks), channel_(channel), tracks_(tracks), result_(result) {}

  void run() {
    std::int64_t size = 0;
    for (const Track& track : tracks_) size = std::max(size, track.group_size);
    // Several communicators under one name: who belongs to whom is not told.
    if (size > 0 && static_cast<std::int64_t>(tracks_.size()) > size) return;
    whole_ = size > 0 ? size : everybody();
    for (const Track& track : tracks_) result_.events += static_cast<std::int64_t>(track.entries.size());
    if (std::all_of(tracks_.begin(), tracks_.end(), [](const Track& track) { return track.numbered(); }))
      by_sequence();
    else
      by_order();
    write();
  }

 private:
  // Without the communicator's size: where all ranks of the job are here, all of its members are.
  std::int64_t everybody() const {
    std::int64_t world = 0;
    for (const RankTimeline& rank : ranks_) world = std::max(world, world_size(rank).value_or(0));
    if (world == 0) world = ranks_.back().rank + 1;
    const bool all_here = static_cast<std::int64_t>(ranks_.size()) >= world;
    return all_here ? static_cast<std::int64_t>(tracks_.size()) : world;
  }

  using Place = std::pair<std::size_t, std::size_t>;  // track, entry

  void by_sequence() {
    for (std::size_t t = 0; t < tracks_.size(); ++t)
      for (std::size_t i = 0; i < tracks_[t].entries.size(); ++i)
        places_[tracks_[t].entries[i].sequence].emplace_back(t, i);
  }

  void by_order() {
    std::size_t base = 0;
    for (std::size_t t = 1; t < tracks_.size(); ++t)
      if (tracks_[t].entries.size() > tracks_[base].entries.size()) base = t;
    for (std::size_t t = 0; t < tracks_.size(); ++t) {
      const auto shift = t == base ? std::optional(Shift{}) : find_shift(tracks_[base], tracks_[t]);
      if (!shift || (t != base && shift->spread > most_spread(tracks_[base]))) {
        result_.differ += static_cast<std::int64_t>(tracks_[t].entries.size());
        continue;
      }
      for (std::size_t i = 0; i < tracks_[t].entries.size(); ++i)
        places_[static_cast<std::int64_t>(i) + shift->by].emplace_back(t, i);
    }
  }

  // The same collectives end about as far apart on every rank; half the usual gap between them is not "about".
  static double most_spread(const Track& base) {
    std::vector<double> gaps;
    for (std::size_t i = 1; i < base.entries.size(); ++i)
      gaps.push_back(static_cast<double>(base.entries[i].time.end - base.entries[i - 1].time.end));
    return gaps.size() < 3 ? INFINITY : std::max(1e6, *quantile(gaps, 0.9) / 2);
  }

  void write() {
    for (const auto& [number, places] : places_) {
      if (places.size() < 2) {
        ++result_.cut;
        continue;
      }
      const Track& first = tracks_[places.front().first];
      const Entry& model = first.entries[places.front().second];
      MatchedCollective found{model.operation, first.group, ends_of(model.operation), false, {}};
      if (channel_ == kBackward) found.ends = Ends::of_backward;
      for (const auto& [t, i] : places) {
        const Entry& entry = tracks_[t].entries[i];
        if (agree(model, entry)) found.members.push_back({tracks_[t].rank, entry.event, entry.time});
      }
      result_.differ += static_cast<std::int64_t>(places.size() - found.members.size());
      if (found.members.size() < 2) continue;
      found.complete = static_cast<std::int64_t>(found.members.size()) >= whole_;
      result_.collectives.push_back(std::move(found));
    }
  }

  const std::vector<RankTimeline>& ranks_;
  std::string_view channel_;
  const std::vector<Track>& tracks_;
  CollectiveMatching& result_;
  std::int64_t whole_ = 0;  // members of the communicator
  std::map<std::int64_t, std::vector<Place>> places_;
};

}  // namespace

CollectiveMatching match_collectives(const std::vector<RankTimeline>& ranks) {
  CollectiveMatching result;
  std::map<std::string, std::vector<Track>> channels;
  if (ranks.size() < 2) return result;
  for (std::size_t i = 0; i < ranks.size(); ++i) TrackFinder(ranks[i], static_cast<std::uint32_t>(i), channels).run();
  for (const auto& [channel, tracks] : channels)
    if (tracks.size() > 1) ChannelMatcher(ranks, channel, tracks, result).run();
  return result;
}

}  // namespace gradsync
