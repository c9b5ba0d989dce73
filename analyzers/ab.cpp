// run --ab: the experiment's steps, what of them is an answer, and the numbers behind it (ab.h has the judgement).
#include "analyzers/ab.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analyzers/analyzers.h"
#include "analyzers/rows.h"
#include "src/base/statistics.h"
#include "src/model/series_table.h"
#include "src/timeline/rank_timeline.h"

namespace gradsync {
namespace {

constexpr std::string_view kTable = "ab_steps";  // rank, step, block, without, time_ns, bytes
constexpr std::string_view kStep = "step";       // the part of a step that is all of it
constexpr std::string_view kBytes = "bytes";     // that this rank hands to collectives
constexpr std::string_view kSource = "run --ab";

// Part of a step → its blocks.
using Parts = std::map<std::string, std::map<std::int64_t, AbBlock>>;

std::int64_t bytes_in(const RankTimeline& rank, const StepSpan& step) {
  std::int64_t bytes = 0;
  const RankTimeline::Range range = rank.beginning_in(step.interval());
  for (std::size_t i = range.first; i < range.last; ++i)
    if (const Event& event = rank.events[i]; event.kind == Kind::collective && event.source == Source::torch_hook)
      bytes += event.bytes;
  return bytes;
}

std::string fact_of(const Facts& facts, const std::string& key) {
  const auto found = facts.find(key);
  return found == facts.end() ? std::string() : found->second;
}

// Each class of the attribution that was measured, of every rank and step.
using Classes = std::map<std::pair<std::int64_t, std::int64_t>, std::map<std::string, double>>;
Classes classes_of(const Conclusions& conclusions) {
  Classes classes;
  const auto all = std::find_if(conclusions.attribution.begin(), conclusions.attribution.end(),
                                [](const Attribution& attribution) { return attribution.scope == "all"; });
  const auto steps = conclusions.series.find("steps");
  if (all == conclusions.attribution.end() || steps == conclusions.series.end()) return classes;
  const SeriesTable table(steps->second);
  for (const auto& row : table.rows()) {
    const std::optional<double> rank = table.number(row, "rank"), step = table.number(row, "step");
    if (!rank || !step) continue;
    for (const auto& [name, ms] : all->parts_ms)
      if (const std::optional<double> value = table.number(row, name + "_ms"))
        classes[{static_cast<std::int64_t>(*rank), static_cast<std::int64_t>(*step)}][name] = *value;
  }
  return classes;
}

// The mean over ranks of each step, by part and block.
Parts parts_of(const Summary& all, const Conclusions& conclusions) {
  Parts parts;
  const Series* table = all.find(kTable);
  if (table == nullptr) return parts;
  const Classes classes = classes_of(conclusions);
  std::map<std::string, std::map<std::int64_t, StepMeans>> means;
  std::map<std::int64_t, bool> without;
  for (const auto& row : table->rows) {
    const auto cell = [&row](std::size_t i) { return std::get<std::int64_t>(row[i]); };
    const std::int64_t step = cell(1), block = cell(2);
    without[block] = cell(3) != 0;
    means[std::string(kStep)][block].add(step, static_cast<double>(cell(4)) * 1e-6);
    means[std::string(kBytes)][block].add(step, static_cast<double>(cell(5)));
    if (const auto known = classes.find({cell(0), step}); known != classes.end())
      for (const auto& [name, ms] : known->second) means[name][block].add(step, ms);
  }
  for (const auto& [part, blocks] : means)
    for (const auto& [block, samples] : blocks) parts[part][block] = {without[block], samples.sample()};
  return parts;
}

std::vector<double> column(const std::vector<AbQuadruple>& quadruples, double AbQuadruple::*member) {
  std::vector<double> values;
  for (const AbQuadruple& quadruple : quadruples) values.push_back(quadruple.*member);
  return values;
}

// An interval of 90 % as p10 and p90, which is where readers of a measured saving look for it.
void add_interval(MetricSet& metrics, std::string name, const Shift& shift, std::size_t n) {
  Metric metric;
  metric.name = std::move(name);
  metric.value = shift.estimate;
  metric.n = static_cast<std::int64_t>(n);
  metric.p10 = shift.p05;
  metric.p50 = shift.estimate;
  metric.p90 = shift.p95;
  metric.source = kSource;
  metrics.add(std::move(metric));
}

class AbAnalyzer final : public Analyzer {
 public:
  std::string_view name() const override { return "ab"; }

  void summarise(const RankTimeline& rank, const Inputs&, Summary& summary) const override {
    for (const StepSpan& step : rank.steps)
      if (step.ab_block && !step.deep && !step.warm_up)
        summary.table(kTable, {"rank", "step", "block", "without", "time_ns", "bytes"})
            .rows.push_back({std::int64_t{rank.rank}, step.number, *step.ab_block, std::int64_t{step.variant != 0},
                             std::int64_t{step.end - step.start}, bytes_in(rank, step)});
  }

  void conclude(const Summary& all, const Inputs& inputs, Conclusions& conclusions) const override {
    if (!inputs.facts.contains("option.ab") && !conclusions.facts.contains("ab.state")) return;
    const Parts parts = parts_of(all, conclusions);
    const auto steps = parts.find(std::string(kStep));
    std::vector<AbQuadruple> quadruples;
    if (steps != parts.end()) quadruples = ab_quadruples(steps->second);
    add_value(conclusions.metrics, "ab.quadruples", "all", static_cast<double>(quadruples.size()), 1,
              std::string(kSource));
    add_network(all, conclusions);
    const AbJudgement judgement = judge_ab(quadruples);
    const std::string obstacle = why_not(all, conclusions, judgement, quadruples.size());
    if (!obstacle.empty()) {
      conclusions.facts["ab.answer"] = "could not judge";
      conclusions.facts["ab.reason"] = obstacle;
      conclusions.coverage.push_back({"run --ab", "", CoverageState::unavailable, obstacle, hint_for(judgement), 0});
      return;
    }
    add_step(quadruples, judgement, conclusions);
    add_prediction(conclusions);
    add_parts(parts, quadruples.size(), conclusions);
  }

 private:
  static std::string why_not(const Summary&, const Conclusions& conclusions, const AbJudgement& judgement,
                             std::size_t quadruples) {
    const std::string state = fact_of(conclusions.facts, "ab.state");
    if (state.empty()) return "no rank with a communication hook was observed";
    if (const std::size_t off = state.find("off: "); off != std::string::npos)
      return state.substr(off + 5) + outside_of_hooks(state, conclusions);
    for (const Metric& metric : conclusions.metrics.all())
      if (metric.name == "rank.ended_early" && metric.value > 0) return "a rank ended before the others";
    if (judgement.answer == AbAnswer::too_few)
      return fmt::format("{} of at least {} quadruples of blocks were complete", quadruples, kFewestQuadruples);
    return {};
  }

  // What compresses without a hook can be recognised and not be left out: nobody knows what to put in its place.
  static std::string outside_of_hooks(const std::string& state, const Conclusions& conclusions) {
    const std::string place = fact_of(conclusions.facts, "compression.place");
    if (state.find("no communication hook") == std::string::npos || (place != "in_step" && place != "after_backward"))
      return {};
    return ": the job compresses in its own code, which cannot be left out";
  }

  static std::string hint_for(const AbJudgement& judgement) {
    return judgement.answer == AbAnswer::too_few ? "train for longer: ten quadruples take 240 steps after the first 26"
                                                 : "";
  }

  // Ranks of one host and one network namespace reach each other through memory.
  static void add_network(const Summary& all, Conclusions& conclusions) {
    std::set<std::string> hosts;
    if (const Series* table = all.find("rank_ends"))
      for (const auto& row : table->rows) hosts.insert(std::get<std::string>(row[1]));
    const std::string spaces = fact_of(conclusions.facts, "net_namespace");
    if (hosts.empty()) return;
    if (hosts.size() > 1)
      conclusions.facts["ab.network"] = "between hosts";
    else if (!spaces.empty())
      conclusions.facts["ab.network"] =
          spaces.starts_with("mixed") ? "between network namespaces of one host" : "none, one host";
    if (conclusions.facts["ab.network"] == "none, one host") conclusions.facts["ab.one_host"] = *hosts.begin();
  }

  static void add_step(const std::vector<AbQuadruple>& quadruples, const AbJudgement& judgement,
                       Conclusions& conclusions) {
    MetricSet& metrics = conclusions.metrics;
    add_sample(metrics, "ab.with_ms", "all", column(quadruples, &AbQuadruple::with), std::string(kSource));
    add_sample(metrics, "ab.without_ms", "all", column(quadruples, &AbQuadruple::without), std::string(kSource));
    const Shift& effect = judgement.effect.shift;
    add_interval(metrics, "measured.ab_difference_ms", effect, quadruples.size());
    const auto n = static_cast<std::int64_t>(quadruples.size());
    add_value(metrics, "ab.control_ms", "all", judgement.control, n, std::string(kSource));
    add_value(metrics, "ab.p", "all", judgement.effect.p, n, std::string(kSource));
    const bool half = fact_of(conclusions.facts, "ab.with") == "fp16";
    if (!half) add_interval(metrics, "compress.overhead_ms", effect, quadruples.size());
    if (judgement.answer == AbAnswer::no_difference) {
      conclusions.facts["ab.answer"] = "no difference shown";
    } else {
      conclusions.facts["ab.answer"] = judgement.answer == AbAnswer::costs ? "costs" : "saves";
      add_interval(metrics, half ? "measured.fp16_hook.saved_ms" : "measured.no_compression.saved_ms", effect,
                   quadruples.size());
    }
    Series& series = conclusions.series["ab_quadruples"];
    series = {"ab_quadruples", {"quadruple", "with_ms", "without_ms", "difference_ms", "control_ms"}, {}};
    for (const AbQuadruple& one : quadruples)
      series.rows.push_back({one.number, one.with, one.without, one.effect, one.control});
  }

  // The steps with the hook have promised something (whatif): how far that was from what was measured.
  static void add_prediction(Conclusions& conclusions) {
    const std::string change = fact_of(conclusions.facts, "ab.with") == "fp16" ? "fp16_hook" : "no_compression";
    const auto value = [&](const std::string& name) { return conclusions.metrics.value(name, "all"); };
    const auto predicted = value("predict." + change + ".saved_ms"), with = value("ab.with_ms"),
               measured = value("measured.ab_difference_ms");
    if (predicted && with && measured && *with > 0) {  // of the longer step: a change may make the shorter one tiny
      const double error = 100 * (*predicted - *measured) / std::max(*with, value("ab.without_ms").value_or(0));
      return add_value(conclusions.metrics, "ab.prediction_error_percent", "all", error, 1, std::string(kSource));
    }
    std::string why = fact_of(conclusions.facts, "whatif.why");
    if (const auto found = conclusions.series.find("whatif"); why.empty() && found != conclusions.series.end())
      for (const SeriesRow& row : rows_of(found->second))
        if (row.text("remedy") == change) why = row.text("needs") + " (" + row.text("hint") + ")";
    conclusions.facts["ab.not_predicted"] = why.empty() ? "the steps were not taken apart" : why;
  }

  static void add_parts(const Parts& parts, std::size_t expected, Conclusions& conclusions) {
    const bool half = fact_of(conclusions.facts, "ab.with") == "fp16";
    Series& series = conclusions.series["ab"];
    series = {"ab", {"part", "with_ms", "without_ms", "difference_ms", "p05", "p95", "n"}, {}};
    for (const auto& [part, blocks] : parts) {
      const std::vector<AbQuadruple> quadruples = ab_quadruples(blocks);
      const std::optional<PairedShift> effect = signed_rank(column(quadruples, &AbQuadruple::effect));
      if (!effect || quadruples.size() != expected) continue;
      const double with = *median(column(quadruples, &AbQuadruple::with));
      const double without = *median(column(quadruples, &AbQuadruple::without));
      const auto n = static_cast<std::int64_t>(quadruples.size());
      if (part == kBytes) {
        add_value(conclusions.metrics, "ab.with_bytes", "all", with, n, std::string(kSource));
        add_value(conclusions.metrics, "ab.without_bytes", "all", without, n, std::string(kSource));
        if (without > 0)
          add_value(conclusions.metrics, "ab.bytes_ratio_percent", "all", 100 * with / without, n,
                    std::string(kSource));
        continue;
      }
      series.rows.push_back({part, with, without, effect->shift.estimate, effect->shift.p05, effect->shift.p95, n});
      if (part != kStep && !half)
        add_interval(conclusions.metrics, "compress.overhead." + part + "_ms", effect->shift, quadruples.size());
    }
  }
};

}  // namespace

std::unique_ptr<Analyzer> make_ab() { return std::make_unique<AbAnalyzer>(); }

}  // namespace gradsync
