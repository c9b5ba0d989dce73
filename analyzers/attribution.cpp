// Attribution: every nanosecond of a step gets exactly one class, so the classes add up to the step.
// First half: per rank, by claim() (step_rows.h). Second half, here: what was blocked on communication is split at the moment when the
// last peer was ready: before it the rank waits for its peers, after it the fabric works.
#include <algorithm>
#include <map>

#include "analyzers/analyzers.h"
#include "analyzers/host_waits.h"
#include "analyzers/rows.h"
#include "analyzers/startup_part.h"
#include "analyzers/step_rows.h"
#include "src/base/statistics.h"

namespace gradsync {
namespace {

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
  bool host_known = false;                                                 // the steps were traced by the host
  CommSplit of(const StepRow& row) const {
    const auto found = by_step.find({row[StepColumn::rank], row[StepColumn::step]});
    return found == by_step.end() ? CommSplit{} : found->second;
  }
};

void add_known_splits(const Summary& summary, CommSplits& splits) {
  const Series* table = summary.find(kSplitTable);
  if (table == nullptr) return;
  for (const auto& row : table->rows) {
    const auto cell = [&row](std::size_t i) { return std::get<std::int64_t>(row[i]); };
    CommSplit& split = splits.by_step[{cell(0), cell(1)}];
    split.peer_wait += cell(2);
    splits.wait_known = true;
    if (cell(4) >= 0) {
      split.startup += cell(4);
      splits.startup_known = true;
    }
    if (cell(3) < 0) continue;  // a rank that is not here may have come later still
    split.transfer += cell(3);
    splits.transfer_known = true;
  }
}

CommSplits split_communication(const Summary& summary, const LastArrivals& arrivals) {
  CommSplits splits;
  add_known_splits(summary, splits);
  const Series* table = summary.find(kBlockedTable);
  if (table == nullptr) return splits;
  for (const auto& row : table->rows) {
    const auto cell = [&row](std::size_t i) { return std::get<std::int64_t>(row[i]); };
    const std::optional<Nanoseconds> last = arrivals.of(cell(2));
    if (!last) continue;
    const Nanoseconds start = cell(3), end = cell(4), waited = std::clamp(*last, start, end) - start;
    CommSplit& split = splits.by_step[{cell(0), cell(1)}];
    split.peer_wait += waited;
    splits.wait_known = splits.transfer_known = true;
    const Nanoseconds startup = startup_within(start, end, *last, cell(5));
    splits.startup_known |= cell(5) > 0;
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
// their names: where no range that launched them is known, compression is part of a device's compute.
bool measured(const std::string& name, bool on_device, bool phases, const CommSplits& splits) {
  if (name == "sched_irq") return splits.host_known;
  if (name == "comm_startup") return splits.startup_known;
  if (name == "comm_peer_wait") return splits.wait_known;
  if (name == "comm_transfer") return splits.transfer_known;
  if (name == "compress" || name == "decompress") return phases;
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

  void summarise(const RankTimeline&, const Inputs&, Summary&) const override {}  // step_pass.cpp

  void conclude(const Summary& all, const Inputs& inputs, Conclusions& conclusions) const override {
    if (counted_steps(all).empty()) return;
    CommSplits splits = split_communication(all, LastArrivals(all, inputs.one_clock));
    const Series* joined = all.find(kHostJoinTable);
    splits.host_known = joined != nullptr && std::any_of(joined->rows.begin(), joined->rows.end(), [](const auto& row) {
                          return std::get<std::int64_t>(row.back()) != 0;
                        });
    for (const int rank : ranks_in(all)) add_scope(all, rank, splits, conclusions);
    add_scope(all, -1, splits, conclusions);
    add_steps_series(all, splits, conclusions);
  }

 private:
  // The contract's series `steps`: every step but the warm-up, one column per class.
  static void add_steps_series(const Summary& all, const CommSplits& splits, Conclusions& conclusions) {
    Series& series = conclusions.series["steps"];
    series.name = "steps";
    series.rows.clear();
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

  // Reported part = median step × Σ part ÷ Σ step, so that the parts add up to the median step.
  static void add_scope(const Summary& all, int rank, const CommSplits& splits, Conclusions& conclusions) {
    const std::string scope = rank < 0 ? "all" : "rank:" + std::to_string(rank);
    std::map<std::string, StepMeans> samples;  // scope all: an observation is a step, the mean over ranks
    std::map<std::string, double> sums;
    StepMeans times;
    double total = 0;
    bool on_device = false, device_phases = false;
    for (const StepRow& row : counted_steps(all, rank)) {
      const std::int64_t step = row[StepColumn::step];
      times.add(step, row.ms(StepColumn::time));
      total += row.ms(StepColumn::time);
      on_device |= row[StepColumn::on_device] != 0;
      device_phases |= row[StepColumn::on_device] == kDevicePhases;
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
    const bool phases = !on_device || device_phases;
    for (const auto& [name, means] : samples) {
      const bool phase = name.starts_with("phase.");
      if (!phase && !measured(name, on_device, phases, splits)) continue;
      if (phase && !phases) continue;
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
