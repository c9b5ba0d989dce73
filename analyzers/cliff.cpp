// The answers about cliffs (cliff_answers.h) as series, facts and metrics. What was measured beside a load stays in the
// series: it says nothing about the fabric alone.
#include <algorithm>
#include <cmath>
#include <map>

#include "analyzers/analyzers.h"
#include "analyzers/cliff_answers.h"

namespace gradsync {
namespace {

using ByOperation = std::map<std::string, CliffAnswer>;

const std::vector<std::string> kColumns{"operation", "type",         "load",     "answer",      "from_bytes",
                                        "to_bytes",  "drop_percent", "drop_p05", "drop_p95",    "p_value",
                                        "n",         "severity",     "cause",    "until_bytes", "source"};

std::string severity_of(const CliffAnswer& answer) {
  if (!answer.drops()) return "";
  return answer.drop >= 0.5 ? "severe" : answer.drop >= 0.25 ? "major" : "minor";
}

std::vector<Cell> row_of(const CliffAnswer& answer) {
  const auto percent = [](double share) { return 100 * share; };
  return {answer.operation, answer.type,          answer.load,         answer.answer,       answer.from,
          answer.to,        percent(answer.drop), percent(answer.p05), percent(answer.p95), answer.p_value,
          answer.n,         severity_of(answer),  answer.cause.text,   answer.until,        answer.source};
}

// A proved cliff has its drop, a proved absence 0 with the smallest drop that would have been seen; the rest nothing.
std::optional<Metric> metric_of(const CliffAnswer& answer) {
  if (answer.answer != "cliff" && answer.answer != "no cliff" && answer.answer != "cache-capacity") return std::nullopt;
  Metric metric;
  metric.n = answer.n;
  metric.source = answer.source == kLiveSource ? "sweep" : "nccl_tests";
  if (answer.answer == "cliff") metric.value = 100 * answer.drop;
  if (answer.answer == "no cliff") metric.resolution = 100 * answer.drop;
  return metric;
}

ByOperation gravest_of(const std::vector<CliffAnswer>& answers) {
  ByOperation gravest;
  for (const CliffAnswer& answer : answers) {
    if (!answer.load.empty()) continue;
    const auto [entry, added] = gravest.try_emplace(answer.operation, answer);
    if (!added && graver(answer, entry->second)) entry->second = answer;
  }
  return gravest;
}

void add_operations(const ByOperation& answers, Conclusions& conclusions) {
  for (const auto& [operation, answer] : answers) {
    conclusions.facts["sweep.cliff." + operation] = sentence_of(answer);
    std::optional<Metric> metric = metric_of(answer);
    if (!metric) continue;
    metric->name = "fabric." + operation + ".cliff_percent";
    conclusions.metrics.add(*metric);
  }
}

void add_facts(const CliffAnswer& gravest, Facts& facts) {
  facts["sweep.cliff"] = gravest.answer;
  facts["sweep.cliff.where"] = gravest.operation + " of " + span_of(gravest);
  if (gravest.answer == "cliff" || gravest.answer == "suspected") facts["sweep.cliff.kind"] = gravest.cause.kind;
  if (!gravest.cause.text.empty()) facts["sweep.cliff.cause"] = gravest.cause.text;
  if (gravest.answer == "suspected" || gravest.answer == "undecided") facts["sweep.prove"] = proof_of(gravest);
}

void add_suspicion(const CliffAnswer& gravest, MetricSet& metrics) {
  if (gravest.answer != "suspected") return;
  Metric metric;
  metric.name = "fabric.suspected_drop_percent";
  metric.value = 100 * gravest.drop;
  metric.n = gravest.n;
  metric.source = "nccl_tests";
  metrics.add(metric);
}

// Of all operations: the worst drop that was proved; 0 only when each of them was cleared.
void add_worst(const ByOperation& answers, const CliffAnswer& gravest, MetricSet& metrics) {
  std::optional<Metric> metric = metric_of(gravest);
  const bool every = std::all_of(answers.begin(), answers.end(),
                                 [](const auto& entry) { return metric_of(entry.second).has_value(); });
  if (!metric || (gravest.answer != "cliff" && !every)) return;
  for (const auto& [operation, answer] : answers)
    if (const auto one = metric_of(answer); one && one->resolution && metric->resolution)
      metric->resolution = std::max(*metric->resolution, *one->resolution);
  metric->name = "fabric.cliff_percent";
  metrics.add(*metric);
}

class CliffAnalyzer final : public Analyzer {
 public:
  std::string_view name() const override { return "cliff"; }
  void summarise(const RankTimeline&, const Inputs&, Summary&) const override {}
  void conclude(const Summary&, const Inputs& inputs, Conclusions& conclusions) const override {
    const std::vector<CliffAnswer> answers = cliff_answers(inputs);
    if (answers.empty()) return;
    Series series{"fabric_cliffs", kColumns, {}};
    for (const CliffAnswer& answer : answers) series.rows.push_back(row_of(answer));
    conclusions.series["fabric_cliffs"] = std::move(series);
    const ByOperation by_operation = gravest_of(answers);
    if (by_operation.empty()) return;
    const CliffAnswer& gravest =
        std::min_element(by_operation.begin(), by_operation.end(), [](const auto& a, const auto& b) {
          return graver(a.second, b.second);
        })->second;
    add_operations(by_operation, conclusions);
    add_facts(gravest, conclusions.facts);
    add_suspicion(gravest, conclusions.metrics);
    add_worst(by_operation, gravest, conclusions.metrics);
  }
};

}  // namespace

std::unique_ptr<Analyzer> make_cliff() { return std::make_unique<CliffAnalyzer>(); }

}  // namespace gradsync
