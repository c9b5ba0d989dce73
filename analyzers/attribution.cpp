// Attribution: every nanosecond of a step gets exactly one class, so the classes add up to the step.
// First half: per rank, by claim(). Second half: what was blocked on communication is split at the moment when the
// last peer was ready: before it the rank waits for its peers, after it the fabric works.
#include <algorithm>
#include <map>

#include "analyzers/analyzers.h"
#include "analyzers/rows.h"
#include "analyzers/startup_part.h"
#include "analyzers/step_activity.h"
#include "src/base/statistics.h"

namespace gradsync {
namespace {

constexpr std::string_view kBlockedTable =
    "blocked";  // rank, step, key, start, end, peers_ready, complete, start-up: stretches of comm
constexpr std::string_view kArrivalTable = "arrivals";  // rank, key, time: when the rank was ready for the collective

const std::vector<std::string> kReportClasses{
    "compute", "compress",  "decompress", "comm_peer_wait", "comm_startup", "comm_transfer", "comm_unsplit",
    "memcpy",  "host_sync", "launch",     "sched_irq",      "data",         "idle"};

Cell whole(Nanoseconds value) { return static_cast<std::int64_t>(value); }

class StepSummariser {
 public:
  StepSummariser(const RankTimeline& rank, const GradientPath& path, const Inputs& inputs, Summary& summary)
      : rank_(rank),
        path_(path),
        inputs_(inputs),
        steps_(summary.table(kStepTable, step_columns())),
        blocked_(summary.table(
            kBlockedTable, {"rank", "step", "key", "start_ns", "end_ns", "peers_ready_ns", "complete", "startup_ns"})),
        arrivals_(summary.table(kArrivalTable, {"rank", "key", "time_ns"})) {}

  void add(const StepSpan& step) {
    const StepActivity seen = observe(rank_, step, path_);
    const Activity claimed = claim(seen.activity, step.interval());
    std::vector<Cell> row{whole(rank_.rank),   whole(step.number), whole(step.variant),         whole(step.deep),
                          whole(step.warm_up), whole(step.start),  whole(step.end - step.start)};
    for (const IntervalSet& set : claimed.of) row.push_back(whole(set.length()));
    for (const IntervalSet* set : {&seen.forward, &seen.backward, &seen.optimizer, &seen.gradient})
      row.push_back(whole(set->length()));
    add_communication(seen, claimed, row);
    add_compression(seen, step, row);
    add_host_syncs(seen, row);
    add_lifecycle(seen, row);
    row.push_back(whole(seen.on_device));
    steps_.rows.push_back(std::move(row));
    if (!step.warm_up) add_blocked(seen, claimed, step);
  }

 private:
  static void add_communication(const StepActivity& seen, const Activity& claimed, std::vector<Cell>& row) {
    row.push_back(whole(seen.communicating.length()));
    row.push_back(whole(intersect(seen.communicating, claimed[StepClass::compute]).length()));
  }

  static void add_compression(const StepActivity& seen, const StepSpan& step, std::vector<Cell>& row) {
    const IntervalSet all =
        clip(unite(seen.activity[StepClass::compress], seen.activity[StepClass::decompress]), step.interval());
    row.push_back(whole(all.length()));
    const Interval after{seen.compute_end > 0 ? seen.compute_end : step.end, step.end};
    row.push_back(whole(clip(clip(seen.activity[StepClass::compress], step.interval()), after).length()));
  }

  static void add_host_syncs(const StepActivity& seen, std::vector<Cell>& row) {
    row.push_back(whole(static_cast<Nanoseconds>(seen.host_syncs.size())));
    row.push_back(whole(std::count_if(seen.host_syncs.begin(), seen.host_syncs.end(),
                                      [](const Event* event) { return event->has(kFlagInHook); })));
  }

  void add_lifecycle(const StepActivity& seen, std::vector<Cell>& row) const {
    Nanoseconds first = 0;
    std::int64_t bytes = 0, late_bytes = 0;
    for (const Event* event : seen.collectives) {
      if (seen.backward_start == 0 || event->start < seen.backward_start) continue;
      if (first == 0 || event->start < first) first = event->start;
      bytes += event->bytes;
      if (seen.compute_end > 0 && event->start >= seen.compute_end) late_bytes += event->bytes;
    }
    row.push_back(whole(first > 0 ? first - seen.backward_start : -1));
    row.push_back(whole(bytes));
    row.push_back(whole(late_bytes));
  }

  void add_blocked(const StepActivity& seen, const Activity& claimed, const StepSpan& step) {
    IntervalSet left = claimed[StepClass::comm];
    for (const Blocked& blocked : seen.blocked) {
      const IntervalSet mine = clip(left, blocked.interval);
      left = subtract(left, mine);
      for (const Interval& piece : mine.intervals())
        blocked_.rows.push_back({whole(rank_.rank), whole(step.number), blocked.key, whole(piece.start),
                                 whole(piece.end), whole(blocked.peers_ready), whole(blocked.complete),
                                 whole(startup_ns(inputs_, rank_, blocked.collective))});
      if (blocked.key != 0 && blocked.arrival != 0)
        arrivals_.rows.push_back({whole(rank_.rank), blocked.key, whole(blocked.arrival)});
    }
  }

  const RankTimeline& rank_;
  const GradientPath& path_;
  const Inputs& inputs_;
  Series& steps_;
  Series& blocked_;
  Series& arrivals_;
};

// When the last of all ranks was ready for a collective; nothing unless every rank said so.
class LastArrivals {
 public:
  LastArrivals(const Summary& summary, bool one_clock) {
    const std::size_t ranks = ranks_in(summary).size();
    const Series* table = summary.find(kArrivalTable);
    if (!one_clock || ranks < 2 || table == nullptr) return;
    std::map<std::int64_t, std::map<std::int64_t, std::int64_t>> by_key;  // key → rank → first time
    for (const auto& row : table->rows)
      by_key[std::get<std::int64_t>(row[1])].try_emplace(std::get<std::int64_t>(row[0]),
                                                         std::get<std::int64_t>(row[2]));
    for (const auto& [key, times] : by_key) {
      if (times.size() != ranks) continue;
      std::int64_t last = 0;
      for (const auto& [rank, time] : times) last = std::max(last, time);
      last_[key] = last;
    }
  }

  std::optional<Nanoseconds> of(std::int64_t key) const {
    const auto found = last_.find(key);
    if (key == 0 || found == last_.end()) return std::nullopt;
    return found->second;
  }

 private:
  std::map<std::int64_t, std::int64_t> last_;
};

// Of the communication of one step: until the last peer was ready, after it, and what cannot be told apart.
struct CommSplit {
  Nanoseconds peer_wait = 0, startup = 0, transfer = 0;
};

struct CommSplits {
  std::map<std::pair<std::int64_t, std::int64_t>, CommSplit> by_step;      // rank, step
  bool wait_known = false, startup_known = false, transfer_known = false;  // of any stretch
  CommSplit of(const StepRow& row) const {
    const auto found = by_step.find({row[StepColumn::rank], row[StepColumn::step]});
    return found == by_step.end() ? CommSplit{} : found->second;
  }
};

CommSplits split_communication(const Summary& summary, const LastArrivals& arrivals) {
  CommSplits splits;
  const Series* table = summary.find(kBlockedTable);
  if (table == nullptr) return splits;
  for (const auto& row : table->rows) {
    const auto cell = [&row](std::size_t i) { return std::get<std::int64_t>(row[i]); };
    CommSplit& split = splits.by_step[{cell(0), cell(1)}];
    const Nanoseconds start = cell(3), end = cell(4);
    const std::optional<Nanoseconds> told = arrivals.of(cell(2));
    const Nanoseconds last = told.value_or(cell(5));
    if (last == 0) continue;
    const Nanoseconds waited = std::clamp(last, start, end) - start;
    splits.wait_known = true;
    split.peer_wait += waited;
    if (!told && cell(6) == 0) continue;  // a rank that is not here may have come later still
    splits.transfer_known = true;
    const Nanoseconds startup = startup_within(start, end, last, cell(7));
    splits.startup_known |= cell(7) > 0;
    split.startup += startup;
    split.transfer += end - start - waited - startup;
  }
  return splits;
}

std::map<std::string, double> parts_ms(const StepRow& row, const CommSplits& splits) {
  const std::int64_t comm = row[StepColumn::comm];
  const double scale = comm > 0 ? row.ms(StepColumn::comm) / static_cast<double>(comm) : 0;
  const CommSplit split = splits.of(row);
  const auto share = [scale](Nanoseconds part) { return static_cast<double>(part) * scale; };
  return {{"compute", row.ms(StepColumn::compute)},
          {"compress", row.ms(StepColumn::compress)},
          {"decompress", row.ms(StepColumn::decompress)},
          {"comm_peer_wait", share(split.peer_wait)},
          {"comm_startup", share(split.startup)},
          {"comm_transfer", share(split.transfer)},
          {"comm_unsplit", share(comm - split.peer_wait - split.startup - split.transfer)},
          {"memcpy", row.ms(StepColumn::memcpy)},
          {"host_sync", row.ms(StepColumn::host_sync)},
          {"launch", row.ms(StepColumn::launch)},
          {"sched_irq", row.ms(StepColumn::sched_irq)},
          {"data", row.ms(StepColumn::data)},
          {"idle", row.ms(StepColumn::idle)}};
}

// Classes that were not measured here are absent. The start-up part needs a measured fabric; kernels are not told apart by
// their names, so on a device compression is part of compute.
bool measured(const std::string& name, bool on_device, const CommSplits& splits) {
  if (name == "sched_irq") return false;
  if (name == "comm_startup") return splits.startup_known;
  if (name == "comm_peer_wait") return splits.wait_known;
  if (name == "comm_transfer") return splits.transfer_known;
  if (name == "compress" || name == "decompress") return !on_device;
  if (name == "memcpy" || name == "host_sync" || name == "launch") return on_device;
  return true;
}

// These follow the host's pace, which the observation changes more than the device's.
bool follows_the_host(const std::string& name) {
  return name == "launch" || name == "idle" || name == "host_sync" || name == "data";
}

class AttributionAnalyzer final : public Analyzer {
 public:
  std::string_view name() const override { return "attribution"; }

  void summarise(const RankTimeline& rank, const Inputs& inputs, Summary& summary) const override {
    const GradientPath path = find_gradient_path(rank, inputs);
    if (!can_attribute(rank)) return;
    StepSummariser summariser(rank, path, inputs, summary);
    for (const StepSpan& step : rank.steps) summariser.add(step);
  }

  void conclude(const Summary& all, const Inputs& inputs, Conclusions& conclusions) const override {
    if (counted_steps(all).empty()) return;
    const CommSplits splits = split_communication(all, LastArrivals(all, inputs.one_clock));
    for (const int rank : ranks_in(all)) add_scope(all, rank, splits, conclusions);
    add_scope(all, -1, splits, conclusions);
    add_steps_series(all, splits, conclusions);
  }

 private:
  // The contract's series `steps`: every step but the warm-up, one column per class.
  static void add_steps_series(const Summary& all, const CommSplits& splits, Conclusions& conclusions) {
    Series& series = conclusions.series["steps"];
    series.name = "steps";
    series.columns = {"rank", "step", "variant", "deep", "time_ms"};
    for (const std::string& name : kReportClasses) series.columns.push_back(name + "_ms");
    for (const auto& cells : all.find(kStepTable)->rows) {
      const StepRow row(cells);
      if (row[StepColumn::warm_up] != 0) continue;
      std::vector<Cell> out{row[StepColumn::rank], row[StepColumn::step], row[StepColumn::variant],
                            row[StepColumn::deep], row.ms(StepColumn::time)};
      const std::map<std::string, double> parts = parts_ms(row, splits);
      for (const std::string& name : kReportClasses) out.emplace_back(parts.at(name));
      series.rows.push_back(std::move(out));
    }
  }

  // From the device's kernels, or on a CPU job from its phases. A GPU job whose kernels were not recorded cannot be
  // attributed from the host's side, and a trace of bare operators does not tell what they were for.
  static bool can_attribute(const RankTimeline& rank) {
    const bool gpu = rank.fact("device") == "cuda";
    return std::any_of(rank.events.begin(), rank.events.end(), [gpu](const Event& event) {
      return event.kind == Kind::kernel ||
             (!gpu && event.kind == Kind::range && event.source != Source::profiler && event.phase != Phase::none);
    });
  }

  // Reported part = median step × Σ part ÷ Σ step, so that the parts add up to the median step.
  static void add_scope(const Summary& all, int rank, const CommSplits& splits, Conclusions& conclusions) {
    const std::string scope = rank < 0 ? "all" : "rank:" + std::to_string(rank);
    std::map<std::string, StepMeans> samples;  // scope all: an observation is a step, the mean over ranks
    std::map<std::string, double> sums;
    StepMeans times;
    double total = 0;
    bool on_device = false;
    for (const StepRow& row : counted_steps(all, rank)) {
      const std::int64_t step = row[StepColumn::step];
      times.add(step, row.ms(StepColumn::time));
      total += row.ms(StepColumn::time);
      on_device |= row[StepColumn::on_device] != 0;
      for (const auto& [name, ms] : parts_ms(row, splits)) {
        samples[name].add(step, ms);
        sums[name] += ms;
      }
      for (const auto& [name, column] : {std::pair{"forward", StepColumn::forward},
                                         {"backward", StepColumn::backward},
                                         {"optimizer", StepColumn::optimizer},
                                         {"gradient", StepColumn::gradient}}) {
        samples["phase." + std::string(name)].add(step, row.ms(column));
        sums["phase." + std::string(name)] += row.ms(column);
      }
    }
    if (total <= 0 || times.sample().size() < kFewestSteps) return;
    const double scale = *median(times.sample()) / total;
    const double inflation = window_inflation_percent(all);
    Attribution attribution{scope, "median", {}, {}, inflation > kMostInflationForTimes};
    for (const auto& [name, means] : samples) {
      const bool phase = name.starts_with("phase.");
      if (!phase && !measured(name, on_device, splits)) continue;
      if (phase && on_device) continue;
      if (name == "phase.gradient" && sums[name] == 0) continue;
      if (name == "comm_unsplit" && splits.transfer_known && sums[name] == 0) continue;  // nothing is left over
      const double part = scale * sums[name];
      if (!phase) attribution.parts_ms[name] = part;
      if (inflation > kMostInflation && follows_the_host(name)) {
        attribution.inflated.push_back(name);
        continue;  // no metric: no rule can fire on it
      }
      add_sample(conclusions.metrics, phase ? name + "_ms" : "attribution." + name + "_ms", scope, means.sample(),
                 "torch_hook");
      Metric metric = *conclusions.metrics.find(phase ? name + "_ms" : "attribution." + name + "_ms", scope);
      metric.value = part;
      conclusions.metrics.add(std::move(metric));
    }
    conclusions.attribution.push_back(std::move(attribution));
  }
};

}  // namespace

std::unique_ptr<Analyzer> make_attribution() { return std::make_unique<AttributionAnalyzer>(); }

}  // namespace gradsync
