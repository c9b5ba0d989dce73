// What two steps looked like: a median one and the worst, lane by lane, for a picture. A rank cannot know which step that
// will be over all ranks, so each keeps a few that could be: steps that stand evenly among all, so that ranks keep the
// same ones, and its longest. Of a step the longest events are kept, so that a picture stays a picture.
#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "analyzers/analyzers.h"
#include "analyzers/rows.h"
#include "src/base/statistics.h"
#include "src/base/text.h"
#include "src/timeline/rank_timeline.h"

namespace gradsync {
namespace {

constexpr std::string_view kTable = "lanes";
constexpr std::size_t kRowsOfStep = 1000;  // two steps make the 2000 of the contract
constexpr std::size_t kFewestOfRank = 8, kEvenSteps = 8, kLongestSteps = 3;
constexpr int kNameColumns = 100;

enum Column : std::size_t {
  rank_column,
  step_column,
  begin_column,
  lane_column,
  start_column,
  length_column,
  kind_column,
  name_column
};

std::int64_t number(const std::vector<Cell>& row, std::size_t column) { return std::get<std::int64_t>(row[column]); }

// How the picture calls an event; empty: it is not drawn.
std::string_view kind_of(const Event& event) {
  switch (event.kind) {
    case Kind::range:
      return event.phase == Phase::none ? std::string_view() : to_string(event.phase);
    case Kind::kernel:
      return event.phase == Phase::none ? to_string(event.kind) : to_string(event.phase);
    case Kind::collective:
    case Kind::wait:
    case Kind::host_sync:
    case Kind::copy:
    case Kind::memset:
    case Kind::sched_wait:
    case Kind::irq:
    case Kind::softirq:
      return to_string(event.kind);
    default:
      return {};
  }
}

// How the picture calls the lanes of a rank: no number of the operating system, which differs from run to run.
class LaneNames {
 public:
  explicit LaneNames(const RankTimeline& rank) : training_(rank.training_lane) {
    std::map<std::string, int> taken;
    for (const LaneInfo& lane : rank.lanes) ++taken[lane.name];
    for (const LaneInfo& lane : rank.lanes)
      if (!lane.name.empty()) names_[lane.id] = taken[lane.name] == 1 ? lane.name : numbered(lane.name, lane.id);
  }

  // What a trace of the host tells of a thread (docs/events.md: its number is the sequence, its name the name).
  std::string of_thread(const RankTimeline& rank, const Event& event) const {
    for (const LaneInfo& lane : rank.lanes)
      if (lane.tid == static_cast<std::int64_t>(event.sequence) &&
          (static_cast<std::uint32_t>(lane.id) & kStreamLaneBit) == 0)
        return of_lane(lane.id, false);
    return std::string(rank.name(event));
  }

  // Collectives that the host issued are under way beside what the thread does.
  std::string of(const Event& event) const {
    if (event.kind == Kind::collective && !event.on_stream()) return "communication";
    return of_lane(event.lane, event.on_stream());
  }

 private:
  std::string of_lane(LaneId lane, bool stream) const {
    if (training_ && lane == *training_) return "training thread";
    const auto known = names_.find(lane);
    return known != names_.end() ? known->second : numbered(stream ? "stream" : "thread", lane);
  }

  static std::string numbered(const std::string& name, LaneId lane) {
    return name + " #" + std::to_string(static_cast<std::uint32_t>(lane) & ((1U << kLaneFeedShift) - 1));
  }

  std::optional<LaneId> training_;
  std::map<LaneId, std::string> names_;
};

// Multiples of a power of two, and the longest.
std::vector<std::int64_t> steps_to_keep(std::vector<StepRow> steps) {
  std::vector<std::int64_t> kept;
  std::int64_t stride = 1;
  const auto even = [&](const StepRow& step) { return step[StepColumn::step] % stride == 0; };
  while (std::count_if(steps.begin(), steps.end(), even) > static_cast<std::ptrdiff_t>(kEvenSteps)) stride *= 2;
  for (const StepRow& step : steps)
    if (even(step)) kept.push_back(step[StepColumn::step]);
  std::stable_sort(steps.begin(), steps.end(),
                   [](auto& a, auto& b) { return a[StepColumn::time] > b[StepColumn::time]; });
  for (std::size_t i = 0; i < std::min(kLongestSteps, steps.size()); ++i) kept.push_back(steps[i][StepColumn::step]);
  std::sort(kept.begin(), kept.end());
  kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
  return kept;
}

// The longest `most` rows, in the order of their start.
void keep_longest(std::vector<std::vector<Cell>>& rows, std::size_t most) {
  if (rows.size() > most) {
    std::stable_sort(rows.begin(), rows.end(),
                     [](auto& a, auto& b) { return number(a, length_column) > number(b, length_column); });
    rows.resize(most);
  }
  std::stable_sort(rows.begin(), rows.end(), [](auto& a, auto& b) {
    return std::tuple(number(a, rank_column), number(a, start_column), -number(a, length_column)) <
           std::tuple(number(b, rank_column), number(b, start_column), -number(b, length_column));
  });
}

class LanesAnalyzer final : public Analyzer {
 public:
  std::string_view name() const override { return "lanes"; }

  void summarise(const RankTimeline& rank, const Inputs& inputs, Summary& summary) const override {
    const std::vector<std::int64_t> kept = steps_to_keep(counted_steps(summary, rank.rank));
    Series& table =
        summary.table(kTable, {"rank", "step", "begin_ns", "lane", "start_ns", "duration_ns", "kind", "name"});
    const std::size_t most =
        std::max(kFewestOfRank, kRowsOfStep / static_cast<std::size_t>(std::max(inputs.run.ranks, 1)));
    const LaneNames lanes(rank);
    for (const StepSpan& step : rank.steps) {
      if (step.warm_up || !std::binary_search(kept.begin(), kept.end(), step.number)) continue;
      std::vector<std::vector<Cell>> rows;
      const RankTimeline::Range range = rank.beginning_in(step.interval());
      for (std::size_t i = range.first; i < range.last; ++i)
        add(rank, step, rank.events[i], lanes.of(rank.events[i]), rank.name(rank.events[i]), rows);
      for (const Event& event : rank.host_events)
        if (event.start >= step.start && event.start < step.end)
          add(rank, step, event, lanes.of_thread(rank, event), rank.name(event.group), rows);
      keep_longest(rows, most);
      std::move(rows.begin(), rows.end(), std::back_inserter(table.rows));
    }
  }

  void conclude(const Summary& all, const Inputs& inputs, Conclusions& conclusions) const override {
    const Series* table = all.find(kTable);
    if (table == nullptr || table->rows.empty()) return;
    const auto [median_step, worst_step] = choose(all, *table);
    Series& series = conclusions.series["lanes"];
    series.name = "lanes";
    series.columns = {"rank", "step", "lane", "start_us", "duration_us", "kind", "name"};
    conclusions.facts["lanes.median_step"] = std::to_string(median_step);
    conclusions.facts["lanes.worst_step"] = std::to_string(worst_step);
    add_step(*table, median_step, inputs.one_clock, series);
    if (worst_step != median_step) add_step(*table, worst_step, inputs.one_clock, series);
  }

 private:
  static void add(const RankTimeline& rank, const StepSpan& step, const Event& event, std::string lane,
                  std::string_view name, std::vector<std::vector<Cell>>& rows) {
    const std::string_view kind = kind_of(event);
    if (kind.empty() || event.duration() == 0) return;
    rows.push_back({std::int64_t{rank.rank}, step.number, step.start, std::move(lane), event.start, event.duration(),
                    std::string(kind), shorten(name, kNameColumns, "…")});
  }

  // Among the steps that the most ranks kept: the one whose time (the longest of its ranks) is closest to the median of
  // all counted steps, and the longest.
  static std::pair<std::int64_t, std::int64_t> choose(const Summary& all, const Series& table) {
    std::map<std::int64_t, double> times;
    for (const StepRow& row : counted_steps(all)) {
      double& time = times[row[StepColumn::step]];
      time = std::max(time, row.ms(StepColumn::time));
    }
    std::vector<double> sample;
    for (const auto& [step, time] : times) sample.push_back(time);
    const double middle = median(sample).value_or(0);
    std::map<std::int64_t, std::map<std::int64_t, bool>> ranks;
    for (const auto& row : table.rows) ranks[number(row, step_column)][number(row, rank_column)] = true;
    std::size_t most = 0;
    for (const auto& [step, of] : ranks) most = std::max(most, of.size());
    std::pair<std::int64_t, std::int64_t> chosen{-1, -1};
    for (const auto& [step, of] : ranks) {
      if (of.size() < most) continue;
      if (chosen.first < 0 || std::abs(times[step] - middle) < std::abs(times[chosen.first] - middle))
        chosen.first = step;
      if (chosen.second < 0 || times[step] > times[chosen.second]) chosen.second = step;
    }
    return chosen;
  }

  // Times from the first rank's begin of the step, where the ranks share a clock; else from each rank's own.
  static void add_step(const Series& table, std::int64_t step, bool one_clock, Series& series) {
    std::vector<std::vector<Cell>> rows;
    for (const auto& row : table.rows)
      if (number(row, step_column) == step) rows.push_back(row);
    if (rows.empty()) return;
    std::int64_t first = number(rows.front(), begin_column);
    for (const auto& row : rows) first = std::min(first, number(row, begin_column));
    keep_longest(rows, kRowsOfStep);
    for (auto& row : rows) {
      const std::int64_t from = one_clock ? first : number(row, begin_column);
      series.rows.push_back({row[rank_column], row[step_column], std::move(row[lane_column]),
                             static_cast<double>(number(row, start_column) - from) * 1e-3,
                             static_cast<double>(number(row, length_column)) * 1e-3, std::move(row[kind_column]),
                             std::move(row[name_column])});
    }
  }
};

}  // namespace

std::unique_ptr<Analyzer> make_lanes() { return std::make_unique<LanesAnalyzer>(); }

}  // namespace gradsync
