#include "src/commands/track_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <nlohmann/json.hpp>

#include "src/commands/profiles.h"
#include "src/model/series_table.h"

namespace gradsync {
namespace {

using Json = nlohmann::json;

const Metric* metric_of(const Report& report, std::string_view name) {
  for (const Metric& metric : report.metrics)
    if (metric.name == name && metric.scope == "all") return &metric;
  return nullptr;
}

std::string fact_of(const Report& report, const std::string& name) {
  const auto found = report.facts.find(name);
  return found == report.facts.end() ? "" : found->second;
}

std::optional<Estimate> estimate_of(const Metric* metric) {
  if (metric == nullptr || !metric->p10 || !metric->p90) return std::nullopt;
  return Estimate{*metric->p10, metric->value, *metric->p90};
}

Json triple(const Estimate& estimate) { return Json{estimate.p05, estimate.p50, estimate.p95}; }
Estimate estimate_from(const Json& triple) {
  return {triple.at(0).get<double>(), triple.at(1).get<double>(), triple.at(2).get<double>()};
}

}  // namespace

double TriedChange::error_share() const { return std::abs(predicted.p50 - measured.p50) / step_ms; }

std::optional<TriedChange> tried_change(const Report& report, std::int64_t now) {
  const std::string change = fact_of(report, "ab.with") == "fp16" ? "fp16_hook" : "no_compression";
  const auto predicted = estimate_of(metric_of(report, "predict." + change + ".saved_ms"));
  const auto measured = estimate_of(metric_of(report, "measured.ab_difference_ms"));
  const Metric *with = metric_of(report, "ab.with_ms"), *without = metric_of(report, "ab.without_ms");
  if (!predicted || !measured || with == nullptr || !(with->value > 0)) return std::nullopt;
  const Metric* quadruples = metric_of(report, "ab.quadruples");
  return TriedChange{now,
                     change,
                     std::max(with->value, without == nullptr ? 0 : without->value),
                     *predicted,
                     *measured,
                     quadruples == nullptr ? 0 : static_cast<std::int64_t>(quadruples->value),
                     report.tool.version,
                     report.run.hosts,
                     report.run.backend,
                     fact_of(report, "ab.network"),
                     report.run.ranks,
                     report.run.cpus,
                     report.run.versions};
}

std::string to_line(const TriedChange& one) {
  const Json line{{"at", utc_text(one.at)},
                  {"tool", one.tool},
                  {"change", one.change},
                  {"step_ms", one.step_ms},
                  {"predicted_ms", triple(one.predicted)},
                  {"measured_ms", triple(one.measured)},
                  {"quadruples", one.quadruples},
                  {"hosts", one.hosts},
                  {"backend", one.backend},
                  {"network", one.network},
                  {"ranks", one.ranks},
                  {"cpus", one.cpus},
                  {"versions", one.versions}};
  return line.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::optional<TriedChange> from_line(std::string_view text) {
  try {
    const Json line = Json::parse(text);
    TriedChange one;
    one.at = utc_seconds(line.at("at").get<std::string>()).value_or(0);
    one.change = line.at("change").get<std::string>();
    one.step_ms = line.at("step_ms").get<double>();
    one.predicted = estimate_from(line.at("predicted_ms"));
    one.measured = estimate_from(line.at("measured_ms"));
    one.tool = line.value("tool", "");
    one.quadruples = line.value("quadruples", std::int64_t{0});
    one.hosts = line.value("hosts", one.hosts);
    one.backend = line.value("backend", "");
    one.network = line.value("network", "");
    one.ranks = line.value("ranks", 0);
    one.cpus = line.value("cpus", 0);
    one.versions = line.value("versions", one.versions);
    if (!(one.step_ms > 0) || !std::isfinite(one.error_share())) return std::nullopt;
    return one;
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

}  // namespace gradsync
