#include "src/timeline/builder.h"

#include <algorithm>
#include <charconv>
#include <regex>
#include <set>

#include "src/base/in_parallel.h"
#include "src/timeline/device_calls.h"
#include "src/timeline/fold_nccl_calls.h"

namespace gradsync {
namespace {

constexpr int kReferenceBits = 48;

std::optional<int> rank_fact(const RankTimeline& process) {
  const std::string text = process.fact("rank");
  int rank = -1;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), rank);
  if (text.empty() || parsed.ec != std::errc{} || rank < 0) return std::nullopt;
  return rank;
}

bool trains(const RankTimeline& process) {
  return std::any_of(process.events.begin(), process.events.end(), [](const Event& event) {
    return event.kind == Kind::step || event.kind == Kind::collective || event.kind == Kind::kernel ||
           event.kind == Kind::range;
  });
}

// NVTX knows no phases: the range's name decides, by data. Read by all threads; what one rank's names mean is its own.
class RangeNames {
 public:
  explicit RangeNames(const std::vector<NameClass>& classes) {
    for (const NameClass& entry : classes)
      patterns_.emplace_back(
          std::regex(entry.pattern, std::regex::ECMAScript | std::regex::icase | std::regex::optimize), entry.meaning);
  }

  std::string_view meaning(std::string_view name) const {
    for (const auto& [pattern, meaning] : patterns_)
      if (std::regex_search(name.begin(), name.end(), pattern)) return meaning;
    return {};
  }

 private:
  std::vector<std::pair<std::regex, std::string>> patterns_;
};

// A range that means communication becomes a collective.
void name_ranges(RankTimeline& rank, const RangeNames& names) {
  std::map<NameId, std::string_view> known;
  for (Event& event : rank.events) {
    if (event.kind != Kind::range || event.source != Source::nvtx || event.phase != Phase::none) continue;
    const auto [meaning, inserted] = known.try_emplace(event.name);
    if (inserted) meaning->second = names.meaning(rank.name(event));
    if (meaning->second == "comm")
      event.kind = Kind::collective;
    else
      event.phase = phase_from(meaning->second);
  }
}

bool is_host_event(const Event& event) {
  return event.source == Source::host &&
         (event.kind == Kind::sched_wait || event.kind == Kind::irq || event.kind == Kind::softirq ||
          event.kind == Kind::copy || event.kind == Kind::window);
}

// The doctor of a host writes what it saw of all processes there: each gets its own, and the windows all.
using Processes = std::map<std::pair<std::string, std::int64_t>, RankTimeline>;
void hand_out_host_events(Processes& processes) {
  for (auto& [key, writer] : processes) {
    for (const Event& event : writer.events) {
      if (!is_host_event(event)) continue;
      if (event.kind != Kind::window) {
        const auto target = processes.find({key.first, event.bytes});
        if (target != processes.end()) target->second.host_events.push_back(event);
        continue;
      }
      for (auto& [other, target] : processes)
        if (other.first == key.first) target.host_events.push_back(event);
    }
  }
  for (auto& [key, process] : processes)
    std::stable_sort(process.host_events.begin(), process.host_events.end(),
                     [](const Event& a, const Event& b) { return a.start < b.start; });
}

std::optional<LaneId> find_training_lane(const RankTimeline& rank) {
  std::map<LaneId, std::int64_t> votes;
  for (const Event& event : rank.events)
    if (event.kind == Kind::range && (event.phase == Phase::backward || event.phase == Phase::optimizer) &&
        event.source != Source::profiler)
      ++votes[event.lane];
  if (votes.empty()) return std::nullopt;
  return std::max_element(votes.begin(), votes.end(), [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

}  // namespace

TimelineBuilder::TimelineBuilder(std::vector<NameClass> range_classes)
    : strings_(std::make_shared<StringPool>()), range_classes_(std::move(range_classes)) {}

RankTimeline& TimelineBuilder::current() {
  if (current_ == nullptr) begin_process({});
  return *current_;
}

std::uint64_t TimelineBuilder::feed_reference(std::uint64_t reference) const {
  return reference == 0 ? 0 : (feed_ << kReferenceBits) | (reference & ((std::uint64_t{1} << kReferenceBits) - 1));
}

void TimelineBuilder::begin_process(const ProcessInfo& process) {
  RankTimeline& rank = processes_[{process.host, process.pid}];
  if (rank.strings == nullptr) {
    rank.strings = strings_;
    rank.process = process;
    rank.clock = process.clock.empty() ? process.host : process.clock;
  }
  current_ = &rank;
  ++feed_;
}

NameId TimelineBuilder::intern(std::string_view text) { return strings_->intern(text); }

void TimelineBuilder::lane(const LaneInfo& lane) {
  LaneInfo info = lane;
  info.id = LaneId{static_cast<std::uint32_t>(lane.id) ^ static_cast<std::uint32_t>((feed_ & 0x3ff) << kLaneFeedShift)};
  auto& lanes = current().lanes;
  const bool known = std::any_of(lanes.begin(), lanes.end(), [&](const LaneInfo& l) { return l.id == info.id; });
  if (!known) lanes.push_back(std::move(info));
}

void TimelineBuilder::event(const Event& event) {
  Event& added = current().events.push_back(event);
  added.reference = feed_reference(event.reference);
  // A GPU's correlation id is a small number of its own space; only references of the same feed are widened.
  if (event.kind == Kind::wait || event.kind == Kind::range) added.correlation = feed_reference(event.correlation);
  added.lane =
      LaneId{static_cast<std::uint32_t>(event.lane) ^ static_cast<std::uint32_t>((feed_ & 0x3ff) << kLaneFeedShift)};
}

void TimelineBuilder::attribute(std::uint64_t event_reference, NameId key, std::int64_t value) {
  current().integers[feed_reference(event_reference)].emplace_back(key, value);
}

void TimelineBuilder::attribute(std::uint64_t event_reference, NameId key, NameId value) {
  current().texts[feed_reference(event_reference)].emplace_back(key, value);
}

void TimelineBuilder::fact(std::string_view key, std::string_view value) {
  current().facts[std::string(key)] = std::string(value);
}

std::optional<WindowClock> TimelineBuilder::window_clock(const std::string& host, std::int64_t pid,
                                                         std::string_view file) const {
  const auto process = processes_.find({host, pid});
  if (process == processes_.end()) return std::nullopt;
  for (const Event& event : process->second.events) {
    if (event.kind != Kind::window || process->second.name(event) != file) continue;
    const auto open = process->second.integer(event, "clock_open_ns");
    const auto close = process->second.integer(event, "clock_close_ns");
    if (open && close) return WindowClock{*open, *close};
  }
  return std::nullopt;
}

void TimelineBuilder::clock_residual(double microseconds) {
  auto& residual = current().clock_residual_us;
  residual = std::max(residual.value_or(0.0), microseconds);
}

void TimelineBuilder::absorb(TimelineBuilder& other, const std::string& clock) {
  for (auto& [key, process] : other.processes_) {
    if (!clock.empty()) process.clock = process.process.clock.empty() ? clock : clock + " " + process.process.clock;
    processes_.try_emplace(key, std::move(process));
  }
  other.processes_.clear();
  other.current_ = nullptr;
}

std::vector<RankTimeline> TimelineBuilder::build(int threads) {
  std::vector<RankTimeline> ranks, unnumbered;
  std::set<int> taken;
  hand_out_host_events(processes_);
  for (auto& [key, process] : processes_) {
    const std::optional<int> rank = rank_fact(process);
    if (rank && taken.insert(*rank).second) {
      process.rank = *rank;
      ranks.push_back(std::move(process));
    } else if (!rank && trains(process)) {
      unnumbered.push_back(std::move(process));
    }
  }
  for (RankTimeline& process : unnumbered) {
    int next = 0;
    while (taken.contains(next)) ++next;
    taken.insert(next);
    process.rank = next;
    ranks.push_back(std::move(process));
  }
  strings_->intern(kBytesFrom);
  for (const Source source : kTellBytes) strings_->intern(to_string(source));
  const RangeNames names(range_classes_);
  in_parallel(ranks.size(), threads, [&](std::size_t i) {
    RankTimeline& rank = ranks[i];
    name_ranges(rank, names);
    place_device_calls(rank);
    rank.events.sort_by_start();
    fold_nccl_calls(rank);
    rank.training_lane = find_training_lane(rank);
    find_steps(rank, range_classes_);
  });
  std::sort(ranks.begin(), ranks.end(), [](const RankTimeline& a, const RankTimeline& b) { return a.rank < b.rank; });
  processes_.clear();
  current_ = nullptr;
  return ranks;
}

}  // namespace gradsync
