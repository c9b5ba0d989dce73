// The job laid on the fabric's curve: what share of its messages and of their time is start-up, what a cliff costs each
// step, and how large a bucket leaves the start-up behind. The time is the fabric's price of each message, not what the
// job waited: so it says what the sizes cost, whoever hides it.
#include <algorithm>
#include <cmath>
#include <map>

#include "analyzers/analyzers.h"
#include "analyzers/fabric_cost.h"
#include "analyzers/fabric_curves.h"
#include "src/base/units.h"
#include "src/model/series_table.h"

namespace gradsync {
namespace {

constexpr double kStartupRegion = 0.5;  // more than half of the time is start-up: below n½
constexpr double kLeftBehind = 0.1;     // a bucket of which a tenth is start-up gains little by growing
constexpr double kMiB = 1 << 20;
constexpr std::int64_t kLargestBucket = 1024;  // MiB

struct CliffSpan {
  double from = 0, to = 0, drop = 0;  // the sizes that pay, and the share of bandwidth they lose
};
using CliffSpans = std::map<std::string, std::vector<CliffSpan>>;

// A cliff that lasts to the largest size that was measured is not known to end there.
CliffSpans spans_of(const SeriesSet& concluded, const SeriesSet& given, const FabricFit& fit) {
  CliffSpans spans;
  auto series = concluded.find("fabric_cliffs");
  if (series == concluded.end() && (series = given.find("fabric_cliffs")) == given.end()) return spans;
  const SeriesTable table(series->second);
  for (const auto& row : table.rows()) {
    const auto from = table.number(row, "to_bytes"), drop = table.number(row, "drop_percent");
    if (table.text(row, "answer") != "cliff" || !table.text(row, "load").empty() || !from || !drop) continue;
    const std::string operation = table.text(row, "operation");
    const double until = table.number(row, "until_bytes").value_or(*from);
    const auto fitted = fit.operations.find(operation);
    const bool ends = fitted == fit.operations.end() || until < static_cast<double>(fitted->second.back().to_bytes);
    spans[operation].push_back({*from, ends ? until : INFINITY, *drop / 100});
  }
  return spans;
}

double drop_at(const CliffSpans& spans, const std::string& operation, double bytes) {
  double drop = 0;
  if (const auto found = spans.find(operation); found != spans.end())
    for (const CliffSpan& span : found->second)
      if (bytes >= span.from && bytes <= span.to) drop = std::max(drop, span.drop);
  return drop;
}

struct Message {
  std::string group, operation;
  double job_bytes = 0, bytes = 0, per_step = 0;
  std::optional<FabricCost> cost;
  double cliff_us = 0;
};

std::vector<Message> messages_of(const Series& series, const FabricFit& fit, const CliffSpans& spans) {
  const SeriesTable table(series);
  std::vector<Message> messages;
  for (const auto& row : table.rows()) {
    Message message{table.text(row, "group"),
                    swept_operation(table.text(row, "op")),
                    table.number(row, "bytes").value_or(0),
                    0,
                    table.number(row, "count_per_step").value_or(0),
                    {},
                    0};
    message.bytes = swept_bytes(message.operation, message.job_bytes, fit.ranks);
    message.cost = fabric_cost(fit, message.operation, message.bytes);
    if (message.cost) message.cliff_us = message.cost->us * drop_at(spans, message.operation, message.bytes);
    if (message.per_step > 0) messages.push_back(std::move(message));
  }
  return messages;
}

struct Sums {
  double messages = 0, covered = 0, in_region = 0;  // per step
  double us = 0, startup_us = 0, region_us = 0, cliff_us = 0;
  std::int64_t sizes = 0;
  void add(const Message& message) {
    messages += message.per_step;
    if (!message.cost) return;
    ++sizes;
    covered += message.per_step;
    us += message.per_step * message.cost->us;
    startup_us += message.per_step * message.cost->startup_us;
    cliff_us += message.per_step * message.cliff_us;
    if (message.cost->startup_share() <= kStartupRegion) return;
    in_region += message.per_step;
    region_us += message.per_step * message.cost->us;
  }
};

void add_metrics(const std::string& scope, const Sums& sums, bool cliffs, MetricSet& metrics) {
  const auto add = [&](const char* name, double value) {
    Metric metric;
    metric.name = name;
    metric.scope = scope;
    metric.value = value;
    metric.n = sums.sizes;
    metric.source = "fabric";
    metrics.add(metric);
  };
  add("overlay.covered_percent", 100 * sums.covered / sums.messages);
  if (sums.us <= 0) return;
  add("fabric.alpha_share_percent", 100 * sums.startup_us / sums.us);
  add("overlay.startup_messages_percent", 100 * sums.in_region / sums.covered);
  add("overlay.startup_time_percent", 100 * sums.region_us / sums.us);
  add("overlay.time_ms", sums.us * 1e-3);
  if (cliffs) add("overlay.cliff_ms", sums.cliff_us * 1e-3);
}

// The smallest bucket in whole powers of two of a MiB that leaves the start-up behind and lies in no cliff; 0: none that
// the fabric was measured for.
std::int64_t bucket_mib(const FabricFit& fit, const CliffSpans& spans) {
  for (std::int64_t mib = 1; mib <= kLargestBucket; mib *= 2) {
    const double bytes = static_cast<double>(mib) * kMiB;
    const std::optional<FabricCost> cost = fabric_cost(fit, "all_reduce", bytes);
    if (cost && cost->startup_share() <= kLeftBehind && drop_at(spans, "all_reduce", bytes) == 0) return mib;
  }
  return 0;
}

// Advice only where smaller all-reduces, of which a bucket consists, are sent.
void add_advice(const std::vector<Message>& messages, const FabricFit& fit, const CliffSpans& spans, Facts& facts) {
  const std::int64_t mib = bucket_mib(fit, spans);
  const bool smaller = std::any_of(messages.begin(), messages.end(), [mib](const Message& message) {
    return message.operation == "all_reduce" && message.bytes < static_cast<double>(mib) * kMiB &&
           message.cost.has_value() && message.cost->startup_share() > kLeftBehind;
  });
  if (mib > 0 && smaller) facts["advice.bucket_cap_mb"] = std::to_string(mib);
}

Series series_of(const std::vector<Message>& messages, bool cliffs) {
  Series series{"job_on_fabric",
                {"operation", "group", "bytes", "count_per_step", "cost_us", "startup_share_percent", "cliff_us"},
                {}};
  for (const Message& message : messages)
    series.rows.push_back({message.operation, message.group, message.job_bytes, message.per_step,
                           message.cost ? message.cost->us : kNotMeasured,
                           message.cost ? 100 * message.cost->startup_share() : kNotMeasured,
                           message.cost && cliffs ? message.cliff_us : kNotMeasured});
  return series;
}

class Overlay final : public Analyzer {
 public:
  std::string_view name() const override { return "overlay"; }
  void summarise(const RankTimeline&, const Inputs&, Summary&) const override {}
  void conclude(const Summary&, const Inputs& inputs, Conclusions& conclusions) const override {
    const Series* const job = messages_series(inputs, conclusions);
    std::optional<FabricFit> fit = fabric_of(inputs, conclusions.series);
    if (job == nullptr || !fit || !same_ranks(*fit, inputs, conclusions)) return;
    const CliffSpans spans = spans_of(conclusions.series, inputs.series, *fit);
    const bool cliffs = conclusions.series.contains("fabric_cliffs") || inputs.series.contains("fabric_cliffs");
    const std::vector<Message> messages = messages_of(*job, *fit, spans);
    if (messages.empty()) return;
    std::map<std::string, Sums> scopes;
    for (const Message& message : messages)
      for (const std::string& scope : {std::string("all"), std::string("group:") + message.group})
        scopes[scope].add(message);
    for (const auto& [scope, sums] : scopes) add_metrics(scope, sums, cliffs, conclusions.metrics);
    if (scopes["all"].us > 0) conclusions.facts["fabric.measured"] = "yes";
    add_advice(messages, *fit, spans, conclusions.facts);
    conclusions.series["job_on_fabric"] = series_of(messages, cliffs);
  }

 private:
  static const Series* messages_series(const Inputs& inputs, const Conclusions& conclusions) {
    for (const SeriesSet* all : {&conclusions.series, &inputs.series})
      if (const auto found = all->find("messages"); found != all->end()) return &found->second;
    return nullptr;
  }

  // Start-up grows with the ranks: a curve of other ranks says nothing about this job.
  static bool same_ranks(FabricFit& fit, const Inputs& inputs, Conclusions& conclusions) {
    const bool job_watched = conclusions.series.contains("messages");
    const double told = job_watched ? inputs.run.ranks : fact_number(inputs.facts, "overlay.ranks");
    const double world = fact_number(conclusions.facts, "world_size");  // some ranks may have left no events
    const double job = job_watched && world > told ? world : told;
    if (fit.ranks == 0 && job > 0) fit.ranks = static_cast<int>(job);
    if (!(job > 0) || job == fit.ranks) return fit.ranks > 0;
    conclusions.coverage.push_back({"fabric", "", CoverageState::unavailable,
                                    "it was measured with " + std::to_string(fit.ranks) + " ranks, the job has " +
                                        std::to_string(static_cast<int>(job)),
                                    "gradsync-doctor sweep --ranks " + std::to_string(static_cast<int>(job)), 0});
    return false;
  }
};

}  // namespace

std::unique_ptr<Analyzer> make_overlay() { return std::make_unique<Overlay>(); }

}  // namespace gradsync
