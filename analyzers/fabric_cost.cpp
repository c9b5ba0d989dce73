#include "analyzers/fabric_cost.h"

#include <cmath>
#include <tuple>

#include "analyzers/fabric_curves.h"
#include "analyzers/fit_curve.h"
#include "src/model/series_table.h"

namespace gradsync {
namespace {

constexpr double kFurthest = 4;  // times outside of the sizes that were measured

// The curve of an operation that stands for it; the smaller the better.
using Rank = std::tuple<bool, bool, std::string, std::string>;  // not live, not float, type, source

Rank rank_of(const SeriesTable& table, const std::vector<Cell>& row) {
  const std::string type = table.text(row, "type"), source = table.text(row, "source");
  return {source != kLiveSource, type != "float" && type != "float32", type, source};
}

}  // namespace

const FabricSegment* segment_at(const std::vector<FabricSegment>& segments, double bytes) {
  const FabricSegment* nearest = nullptr;
  double least = std::log(kFurthest) + 1e-9;
  for (const FabricSegment& segment : segments) {
    const auto from = static_cast<double>(segment.from_bytes), to = static_cast<double>(segment.to_bytes);
    const double off = bytes < from ? std::log(from / bytes) : bytes > to ? std::log(bytes / to) : 0;
    if (off < least) {
      least = off;
      nearest = &segment;
    }
  }
  return nearest;
}

std::optional<FabricCost> fabric_cost(const FabricFit& fit, const std::string& operation, double bytes) {
  const auto found = fit.operations.find(operation);
  if (found == fit.operations.end() || !(bytes > 0)) return std::nullopt;
  const FabricSegment* const segment = segment_at(found->second, bytes);
  if (segment == nullptr) return std::nullopt;
  return FabricCost{segment->alpha_us + segment->beta_us_per_byte * bytes, segment->alpha_us};
}

std::optional<double> cost_us(const FabricFit& fit, const std::string& operation, double bytes) {
  const std::optional<FabricCost> cost = fabric_cost(fit, operation, bytes);
  return cost ? std::optional(cost->us) : std::nullopt;
}

double swept_bytes(const std::string& operation, double job_bytes, int ranks) {
  const bool part = operation == "all_gather" || operation == "reduce_scatter";
  return part ? job_bytes * ranks : job_bytes;
}

std::string swept_operation(const std::string& operation) {
  return operation == "send" || operation == "recv" ? "send_recv" : operation;
}

std::optional<double> startup_us(const FabricFit& fit, const std::string& operation, double job_bytes) {
  const std::string swept = swept_operation(operation);
  const std::optional<FabricCost> cost = fabric_cost(fit, swept, swept_bytes(swept, job_bytes, fit.ranks));
  return cost ? std::optional(cost->startup_us) : std::nullopt;
}

std::optional<FabricFit> fabric_fit_of(const SeriesSet& series) {
  const auto found = series.find("fabric_fit");
  if (found == series.end()) return std::nullopt;
  const SeriesTable table(found->second);
  const auto usable = [&](const auto& row) {
    return table.text(row, "load").empty() && table.number(row, "mape_percent").value_or(100) <= kMostMapePercent;
  };
  std::map<std::string, Rank> best;
  for (const auto& row : table.rows()) {
    if (!usable(row)) continue;
    const auto [entry, added] = best.try_emplace(table.text(row, "operation"), rank_of(table, row));
    if (!added) entry->second = std::min(entry->second, rank_of(table, row));
  }
  FabricFit fit;
  for (const auto& row : table.rows()) {
    const std::string operation = table.text(row, "operation");
    if (!usable(row) || best.at(operation) != rank_of(table, row)) continue;
    const auto number = [&](const char* column) { return table.number(row, column).value_or(0); };
    fit.operations[operation].push_back({static_cast<std::int64_t>(number("from_bytes")),
                                         static_cast<std::int64_t>(number("to_bytes")), number("alpha_us"),
                                         number("us_per_mib") / (1 << 20)});
    if (const auto ranks = table.number(row, "ranks")) fit.ranks = static_cast<int>(*ranks);
  }
  return fit.operations.empty() ? std::nullopt : std::optional(fit);
}

std::optional<FabricFit> fabric_of(const Inputs& inputs, const SeriesSet& concluded) {
  return inputs.fabric ? inputs.fabric : fabric_fit_of(concluded);
}

}  // namespace gradsync
