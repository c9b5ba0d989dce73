// What each remedy would save, predicted by replaying the job's own steps: metrics predict.<remedy>.*, the series
// `whatif`, and which bucket to send how. First half: predict/graph_rows.h. Where one half of the steps does not predict
// the other, nothing is predicted, and the fact whatif.why says why.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analyzers/analyzers.h"
#include "analyzers/fabric_cost.h"
#include "analyzers/fabric_curves.h"
#include "analyzers/message_sums.h"
#include "analyzers/predict/bucket_plan.h"
#include "analyzers/predict/draws.h"
#include "analyzers/predict/graph_rows.h"
#include "analyzers/predict/half_precision.h"
#include "analyzers/predict/together.h"
#include "analyzers/predict/trace_graph.h"
#include "analyzers/predict/track_record.h"
#include "analyzers/rows.h"
#include "src/model/series_table.h"

namespace gradsync {
namespace {

constexpr std::size_t kMostRanks = 64;      // evenly chosen, when there are more
constexpr std::size_t kReplayedSteps = 24;  // of all ranks together
constexpr double kLeastPlanGain = 0.005;    // of the step, for one bucket to be sent otherwise
constexpr double kWorstGamma = 2;

std::string fact_of(const Conclusions& conclusions, const Inputs& inputs, const std::string& name) {
  if (const auto found = conclusions.facts.find(name); found != conclusions.facts.end()) return found->second;
  const auto found = inputs.facts.find(name);
  return found == inputs.facts.end() ? "" : found->second;
}

class WhatIf final : public Analyzer {
 public:
  std::string_view name() const override { return "whatif"; }
  void summarise(const RankTimeline&, const Inputs&, Summary&) const override {}  // step_pass.cpp

  void conclude(const Summary& all, const Inputs& inputs, Conclusions& conclusions) const override {
    std::vector<RankGraphs> graphs = read_graphs(all);
    if (graphs.empty()) return;
    if (const std::string why = why_disabled(graphs, all); !why.empty()) {
      conclusions.facts["whatif"] = "disabled";
      conclusions.facts["whatif.why"] = why;
      return;
    }
    conclusions.facts["whatif"] = "predicted";
    thin_out(graphs);
    std::optional<FabricFit> fit = fabric_of(inputs, conclusions.series);
    if (fit && fit->ranks != inputs.run.ranks) {  // start-up grows with the ranks
      conclusions.facts["whatif.fabric"] =
          fmt::format("the fabric was measured with {} ranks, this job has {}", fit->ranks, inputs.run.ranks);
      fit.reset();
    }
    std::vector<RankStep> steps;
    for (RankGraphs& rank : graphs) steps.push_back({thinned_out(rank.graphs, graphs.size()), rank.all->spread_ns});
    if (!price(fit, steps, conclusions)) fit.reset();
    const Job job = job_of(graphs, all, inputs, conclusions);
    add_remedies(job, steps, fit, inputs, conclusions);
    if (fit) add_plan(job, steps, *fit, inputs, conclusions);
  }

 private:
  static std::string why_disabled(const std::vector<RankGraphs>& graphs, const Summary& all) {
    if (const double inflation = window_inflation_percent(all); inflation > kMostInflation)
      return fmt::format("the steps that were profiled are {:.0f} % longer than the others", inflation);
    for (const RankGraphs& rank : graphs)
      if (std::string why = why_not_alike(rank, graphs.size()); !why.empty()) return why;
    return "";
  }

  static void thin_out(std::vector<RankGraphs>& graphs) {
    if (graphs.size() <= kMostRanks) return;
    std::vector<RankGraphs> kept;
    for (std::size_t i = 0; i < kMostRanks; ++i) kept.push_back(std::move(graphs[i * graphs.size() / kMostRanks]));
    graphs = std::move(kept);
  }

  // Many ranks average over steps as well as many steps of few ranks do.
  static std::vector<StepGraph> thinned_out(const std::vector<StepGraph>& steps, std::size_t ranks) {
    const std::size_t most = std::clamp<std::size_t>(kReplayedSteps / ranks, 1, std::max<std::size_t>(1, steps.size()));
    std::vector<StepGraph> kept;
    for (std::size_t i = 0; i < most && i < steps.size(); ++i)
      kept.push_back(steps[(2 * i + 1) * steps.size() / (2 * most)]);
    return kept;
  }

  // Exchanges that nobody saw get their times. False: this fabric cannot explain what the job waits for.
  static bool price(const std::optional<FabricFit>& fit, std::vector<RankStep>& steps, Conclusions& conclusions) {
    for (RankStep& rank : steps) {
      const bool unseen = std::any_of(rank.graphs.begin(), rank.graphs.end(), [](const StepGraph& graph) {
        return std::any_of(graph.exchanges.begin(), graph.exchanges.end(),
                           [](const Exchange& exchange) { return !exchange.seen; });
      });
      if (!unseen || !fit) continue;
      if (price_unseen(*fit, rank.graphs) > 0) continue;
      conclusions.facts["whatif.fabric"] = "the fabric's profile does not explain what the job waits for";
      return false;
    }
    return true;
  }

  static Job job_of(const std::vector<RankGraphs>& graphs, const Summary& all, const Inputs& inputs,
                    const Conclusions& conclusions) {
    Job job;
    job.compression = fact_of(conclusions, inputs, "compression");
    job.place = fact_of(conclusions, inputs, "compression.place");
    job.compresses = fact_of(conclusions, inputs, "compression.started") == "yes";
    job.on_device = graphs[0].on_device;
    job.framework_syncs = graphs[0].framework_syncs;
    job.ranks = inputs.run.ranks;
    job.hosts = std::max<int>(1, static_cast<int>(inputs.run.hosts.size()));
    for (const RankGraphs& rank : graphs) job.sort_ns = std::max(job.sort_ns, rank.sort_ns);
    if (const Series* paths = all.find(kPathTable); paths != nullptr && !paths->rows.empty())
      job.elements = SeriesTable(*paths).number(paths->rows[0], "gradient_bytes").value_or(0) / 4;
    const auto ns = [&](const char* metric) { return 1e6 * conclusions.metrics.value(metric, "all").value_or(0); };
    if (job.on_device) {
      job.compress_ns = ns("compress.kernel_ms");
      job.decompress_ns = ns("decompress.kernel_ms");
      job.compresses |= job.compress_ns > 0;
    }
    for (const std::string& rank : conclusions.metrics.scopes("rank"))
      if (const auto late_ms = conclusions.metrics.value("straggler.late_ms", rank))
        job.late_ns = std::max(job.late_ns.value_or(0), 1e6 * *late_ms);
    if (const double gbits = fact_number(inputs.facts, "link.gbits_per_s"); gbits > 0)
      job.link_bytes_per_us = gbits * 125;
    return job;
  }

  // Ranks of a CPU job and the threads that communicate for them share its cores.
  static Uncertainty uncertainty_of(const Job& job, const Inputs& inputs) {
    if (job.on_device) return {1.1, 1};
    const double cpus = inputs.run.cpus > 0 ? inputs.run.cpus : 1;
    const double runnable = 2.0 * job.ranks / job.hosts;
    const double worst = std::clamp(runnable / cpus, 1.0, kWorstGamma);
    return {worst, worst};
  }

  static void add_saving(const std::string& remedy, const Prediction& found, Conclusions& conclusions) {
    Metric saved{.name = "predict." + remedy + ".saved_ms", .value = found.p50, .n = kDraws, .source = "whatif"};
    saved.p10 = found.p05;
    saved.p50 = found.p50;
    saved.p90 = found.p95;
    conclusions.metrics.add(saved);
    add_value(conclusions.metrics, "predict." + remedy + ".probability", "all", found.probability, kDraws, "whatif");
  }

  struct Row {
    double order;
    std::vector<Cell> cells;
  };
  static Row row_of(const Remedy& remedy, const Prediction& found, double step_ms) {
    return {found.p50,
            {remedy.name, found.p05, found.p50, found.p95, found.probability, remedy.needs, std::string("predicted"),
             std::string(worth_trying(found, step_ms) ? "yes" : "no"), remedy.hint, found.cap_ms}};
  }
  static Row row_of(const Remedy& remedy, double most, double order, const char* kind) {
    return {order,
            {remedy.name, kNotMeasured, most, kNotMeasured, kNotMeasured, remedy.needs, std::string(kind),
             std::string("not known"), remedy.hint, most}};
  }

  static void add_remedies(const Job& job, const std::vector<RankStep>& steps, const std::optional<FabricFit>& fit,
                           const Inputs& inputs, Conclusions& conclusions) {
    std::vector<StepGraph> graphs;
    double step_ms = 0;
    for (const RankStep& rank : steps) {
      for (const StepGraph& graph : rank.graphs) {
        graphs.push_back(graph);
        step_ms += 1e-6 * replay(graph).step_ns / static_cast<double>(steps.size() * rank.graphs.size());
      }
    }
    std::vector<Row> rows;
    std::vector<std::pair<double, Remedy>> worthy;
    for (const Remedy& remedy : remedies(job, graphs, fit, inputs.loads)) {
      if (remedy.judgement == Judgement::not_applicable) continue;
      if (remedy.judgement == Judgement::predicted) {
        const Prediction found = predict(remedy, steps, uncertainty_of(job, inputs));
        rows.push_back(row_of(remedy, found, step_ms));
        if (worth_trying(found, step_ms)) worthy.emplace_back(found.p50, remedy);
        add_saving(remedy.name, found, conclusions);
      } else if (remedy.judgement == Judgement::bound) {
        const double most = bound_ms(remedy, steps);
        rows.push_back(row_of(remedy, most, most - 1e6, "bound"));
        add_value(conclusions.metrics, "bound." + remedy.name + ".saved_ms", "all", most, 1, "whatif");
      } else {
        rows.push_back(row_of(remedy, kNotMeasured, -1e9, "could not judge"));
      }
    }
    std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.order > b.order; });
    Series series{
        "whatif", {"remedy", "p05", "p50", "p95", "probability", "needs", "kind", "worth_trying", "hint", "cap"}, {}};
    for (Row& row : rows) series.rows.push_back(std::move(row.cells));
    conclusions.series["whatif"] = std::move(series);
    std::stable_sort(worthy.begin(), worthy.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<Remedy> best_first;
    for (auto& [saved, remedy] : worthy) best_first.push_back(std::move(remedy));
    const std::optional<Remedy> joint = together(best_first, graphs);
    if (!joint) return;
    conclusions.facts["whatif.together"] = joint->name;
    add_saving("together", predict(*joint, steps, uncertainty_of(job, inputs)), conclusions);
  }

  // Rank 0 and its median step stand for all: DDP fills the same buckets everywhere.
  static void add_plan(const Job& job, const std::vector<RankStep>& steps, const FabricFit& fit, const Inputs& inputs,
                       Conclusions& conclusions) {
    const StepGraph& graph = steps[0].graphs[steps[0].graphs.size() / 2];
    const LoadCurve cast(inputs.loads, "cast16", job.on_device ? "cuda" : "cpu");
    if (graph.bucket_bytes.empty()) return;
    double clock = 0, step = replay(graph).step_ns;
    std::vector<double> ready(graph.bucket_bytes.size(), 0);
    for (const Stage& stage : graph.stages) {
      for (std::size_t i = 0; i < kStepClasses; ++i) {
        const auto what = static_cast<StepClass>(i);
        if (what != StepClass::compress && what != StepClass::decompress && what != StepClass::comm)
          clock += stage.ns[i];
      }
      if (stage.anchor.kind == AnchorKind::bucket) ready[static_cast<std::size_t>(stage.anchor.index)] = clock;
    }
    const bool topk = job.compression == "topk" && job.place == "hook" && !job.on_device;
    std::vector<double> own(ready.size(), 0), sent(ready.size(), 0), wire(ready.size(), 0);
    std::int64_t bucket = -1;
    for (const Stage& stage : graph.stages) {
      if (bucket >= 0) own[static_cast<std::size_t>(bucket)] += stage.ns[static_cast<std::size_t>(StepClass::compress)];
      if (stage.anchor.kind == AnchorKind::bucket) bucket = stage.anchor.index;
    }
    for (const Exchange& exchange : graph.exchanges)
      if (exchange.compressed && exchange.bucket >= 0) {
        sent[static_cast<std::size_t>(exchange.bucket)] += exchange.transfer_ns;
        wire[static_cast<std::size_t>(exchange.bucket)] += static_cast<double>(exchange.bytes);
      }
    std::vector<PlannedBucket> buckets;
    for (std::size_t i = 0; i < ready.size(); ++i) {
      const auto bytes = static_cast<double>(graph.bucket_bytes[i]);
      const auto whole = cost_us(fit, "all_reduce", bytes);
      const auto half = half_cost(fit, "all_reduce", bytes / 2, job.on_device);
      if (!whole) return;
      PlannedBucket planned{ready[i], {{"dense", 0, 1e3 * *whole, 0}}};
      if (!cast.empty() && half)
        planned.methods.push_back({"fp16", half_coding_ns(cast, bytes / 4, job.on_device), 1e3 * half->us,
                                   1e6 * cast.decode_ms(bytes / 4, 1).value_or(cast.own_ms(bytes / 4))});
      if (topk) planned.methods.push_back({"topk", own[i], sent[i], 0});
      buckets.push_back(std::move(planned));
    }
    const double backward = ready.back();
    const std::vector<std::size_t> chosen = plan_buckets(buckets, backward, kLeastPlanGain * step);
    Series series{
        "bucket_plan",
        {"bucket", "bytes", "ready_ms", "method", "coding_ms", "transfer_ms", "dense_transfer_ms", "density_percent"},
        {}};
    for (std::size_t i = 0; i < buckets.size(); ++i) {
      const BucketMethod& method = buckets[i].methods[chosen[i]];
      const double share = method.name == "topk" ? 100 * wire[i] / 3 / static_cast<double>(graph.bucket_bytes[i])
                                                 : kNotMeasured;  // 8 + 4 bytes for each of 4
      series.rows.push_back({static_cast<std::int64_t>(i), graph.bucket_bytes[i], 1e-6 * ready[i], method.name,
                             1e-6 * (method.compress + method.decompress), 1e-6 * method.transfer,
                             1e-6 * buckets[i].methods[0].transfer, share});
    }
    conclusions.series["bucket_plan"] = std::move(series);
    const std::vector<std::size_t> all_dense(buckets.size(), 0);
    add_value(conclusions.metrics, "plan.exposed_ms", "all", 1e-6 * sync_of(buckets, chosen, backward).exposed, 1,
              "whatif");
    add_value(conclusions.metrics, "plan.dense_exposed_ms", "all", 1e-6 * sync_of(buckets, all_dense, backward).exposed,
              1, "whatif");
  }
};

}  // namespace

std::unique_ptr<Analyzer> make_whatif() { return std::make_unique<WhatIf>(); }

}  // namespace gradsync
