#include "src/export/perfetto.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "src/export/trace_arrows.h"
#include "src/export/trace_event_text.h"
#include "src/export/trace_machines.h"
#include "src/export/trace_text.h"
#include "src/export/trace_tracks.h"

namespace gradsync {
namespace {

bool has_stamp(const Event& event) { return event.kind != Kind::loss || event.start != 0; }

// Traces of the scheduler begin before the job does.
std::optional<Nanoseconds> first_stamp(const RankTimeline& rank) {
  const auto first = std::find_if(rank.events.begin(), rank.events.end(), has_stamp);
  if (first == rank.events.end()) return std::nullopt;
  const Nanoseconds own = (*first).start;
  return rank.host_events.empty() ? own : std::min(own, rank.host_events.front().start);
}

// What each rank's stamps are drawn from: one moment for all, or each rank's own where no clock is shared.
std::vector<Nanoseconds> origins_of(const TraceSource& source) {
  std::vector<Nanoseconds> origins;
  std::optional<Nanoseconds> all;
  for (const RankTimeline& rank : source.ranks) {
    const std::optional<Nanoseconds> first = first_stamp(rank);
    origins.push_back(first.value_or(0));
    if (first) all = std::min(all.value_or(*first), *first);
  }
  if (source.clocks.state != ClockState::apart) origins.assign(origins.size(), all.value_or(0));
  return origins;
}

// The steps that nobody told: what drew them is in the trace as events of its own.
bool steps_are_derived(const RankTimeline& rank) {
  return rank.step_source == StepSource::nvtx || rank.step_source == StepSource::repetition;
}

class RankWriter {
 public:
  RankWriter(TraceText& text, const RankTimeline& rank, int process, Nanoseconds origin, int& next_thread,
             std::int64_t& next_arrow)
      : text_(text),
        rank_(rank),
        process_(process),
        origin_(origin),
        tracks_(text, process, next_thread),
        launches_(text, next_arrow) {}

  // All that is told of it once.
  void introduce(ClockState clocks) {
    const ProcessInfo& told = rank_.process;
    std::string name = "rank " + std::to_string(rank_.rank);
    if (!told.host.empty()) name += " (" + told.host + ", process " + std::to_string(told.pid) + ")";
    text_.name_process(process_, name, process_);
    text_.open('M', {process_, 0}, "gradsync_rank");
    text_.args();
    text_.number("rank", rank_.rank);
    text_.text("host", told.host);
    text_.number("pid", told.pid);
    text_.text("command", told.command);
    text_.number("exited_cleanly", told.exited_cleanly ? 1 : 0);
    text_.number("exit_ns", told.exit_time);
    text_.number("lost", static_cast<std::int64_t>(told.lost));
    text_.number("origin_ns", origin_);
    if (clocks == ClockState::apart) text_.text("clock", rank_.clock);
    text_.close();
    text_.open('M', {process_, 0}, "gradsync_facts");
    text_.args();
    for (const auto& [key, value] : rank_.facts)
      if (!key.starts_with("env.")) text_.text(key, value);
    text_.close();
    for (const LaneInfo& lane : rank_.lanes) {
      text_.open('M', {process_, 0}, "gradsync_lane");
      text_.args();
      text_.number("gsd.lane", static_cast<std::uint32_t>(lane.id));
      text_.number("tid", lane.tid);
      text_.text("name", lane.name);
      text_.close();
    }
  }

  // Events that start together are drawn longest first: the others nest in it.
  template <class ArrowAt>
  std::int64_t write_events(const ArrowAt& arrow_at) {
    std::vector<std::size_t> together;
    const std::size_t count = rank_.events.size();
    for (std::size_t i = 0; i < count;) {
      together.clear();
      for (const Nanoseconds start = rank_.events[i].start; i < count && rank_.events[i].start == start; ++i)
        together.push_back(i);
      std::stable_sort(together.begin(), together.end(),
                       [this](std::size_t a, std::size_t b) { return rank_.events[a].end > rank_.events[b].end; });
      for (const std::size_t index : together) write(index, arrow_at(index));
    }
    return static_cast<std::int64_t>(count);
  }

  void write_derived_steps() {
    if (!steps_are_derived(rank_)) return;
    for (const StepSpan& step : rank_.steps) {
      const Track track = tracks_.place(TrackGroup::steps, 0, "steps", step.start, step.end);
      text_.open('X', track, "step " + std::to_string(step.number));
      text_.text("cat", "derived");
      text_.time("ts", step.start - origin_);
      text_.time("dur", step.end - step.start);
      text_.args();
      text_.text("from", to_string(rank_.step_source));
      text_.close();
    }
  }

  std::int64_t launches() const { return launches_.drawn(); }

 private:
  struct LaneNames {
    std::string own, collectives;
  };

  const LaneNames& names_of(const Event& event) {
    const auto [names, added] = names_.try_emplace(static_cast<std::uint32_t>(event.lane));
    if (!added) return names->second;
    std::string& own = names->second.own;
    own = event.on_stream() ? "stream" : "thread";
    const auto told =
        std::find_if(rank_.lanes.begin(), rank_.lanes.end(), [&](const LaneInfo& l) { return l.id == event.lane; });
    if (told != rank_.lanes.end()) own = told->name.empty() ? own + " " + std::to_string(told->tid) : told->name;
    names->second.collectives = own + ": collectives";
    return names->second;
  }

  Track track_of(const Event& event, Nanoseconds start) {
    const auto lane = static_cast<std::uint32_t>(event.lane);
    const LaneNames& names = names_of(event);
    const Nanoseconds end = is_instant(event) ? start : event.end;
    if (event.kind == Kind::step && event.source != Source::profiler)
      return tracks_.place(TrackGroup::steps, 0, "steps", start, end);
    if (event.kind == Kind::window) return tracks_.place(TrackGroup::observer, 0, "what was watched", start, end);
    if (event.on_stream()) return tracks_.place(TrackGroup::stream, lane, names.own, start, end);
    if (event.kind == Kind::collective)
      return tracks_.place(TrackGroup::collectives, lane, names.collectives, start, end);
    return tracks_.place(TrackGroup::lane, lane, names.own, start, end);
  }

  void write(std::size_t index, const std::optional<ArrowPoint>& arrow) {
    Event event = rank_.events[index];
    if (!has_stamp(event)) event.start = event.end = origin_;
    const Track track = track_of(event, event.start);
    write_event(text_, rank_, event, rank_.shared_at(index), track, origin_);
    const Nanoseconds at = event.start - origin_;
    if (event.kind == Kind::host_call || event.kind == Kind::host_sync) launches_.call(event.correlation, track, at);
    if (event.on_stream()) launches_.work(event.correlation, track, at);
    if (arrow) draw_arrow(text_, *arrow, track, at, "collective");
  }

  TraceText& text_;
  const RankTimeline& rank_;
  int process_;
  Nanoseconds origin_;
  TraceTracks tracks_;
  LaunchArrows launches_;
  std::unordered_map<std::uint32_t, LaneNames> names_;  // by lane
};

const char* word_of(ClockState state) {
  return state == ClockState::shared ? "shared" : state == ClockState::aligned ? "aligned" : "apart";
}

}  // namespace

TraceTally write_trace(const TraceSource& source, const std::function<void(std::string_view)>& put) {
  TraceText text(put);
  text.begin_trace(kDoctorTrace, kDoctorTraceVersion, word_of(source.clocks.state));
  const std::vector<Nanoseconds> origins = origins_of(source);
  const CollectiveArrows arrows =
      source.clocks.state == ClockState::apart ? CollectiveArrows() : CollectiveArrows(source.ranks);
  TraceTally tally;
  tally.arrows = arrows.arrows();
  std::int64_t next_arrow = arrows.arrows();
  std::map<std::string, Nanoseconds> host_origins;
  int process = 1, next_thread = 1;
  for (std::size_t i = 0; i < source.ranks.size(); ++i) {
    const RankTimeline& rank = source.ranks[i];
    host_origins.try_emplace(rank.process.host, origins[i]);
    RankWriter writer(text, rank, process++, origins[i], next_thread, next_arrow);
    writer.introduce(source.clocks.state);
    tally.events += writer.write_events([&](std::size_t event) { return arrows.at(i, event); });
    writer.write_derived_steps();
    tally.launches += writer.launches();
  }
  const MachineTally machines = write_machines(text, source, host_origins, process, next_thread);
  tally.events += machines.events;
  tally.counters = machines.counters;
  text.end_trace();
  return tally;
}

}  // namespace gradsync
