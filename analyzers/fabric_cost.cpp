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

// nccl-tests and PyTorch have other words for the types of a sweep.
std::string type_word(const std::string& type) { return type == "float32" ? kFloat : type == "float16" ? kHalf : type; }

Rank rank_of(const SeriesTable& table, const std::vector<Cell>& row) {
  const std::string type = table.text(row, "type"), source = table.text(row, "source");
  return {source != kLiveSource, type_word(type) != kFloat, type, source};
}

template <class Key>
void keep_best(std::map<Key, Rank>& best, const Key& key, const Rank& rank) {
  const auto [entry, added] = best.try_emplace(key, rank);
  if (!added) entry->second = std::min(entry->second, rank);
}

std::optional<FabricCost> cost_on(const std::map<std::string, std::vector<FabricSegment>>& operations,
                                  const std::string& operation, double bytes) {
  const auto found = operations.find(operation);
  if (found == operations.end() || !(bytes > 0)) return std::nullopt;
  const FabricSegment* const segment = segment_at(found->second, bytes);
  if (segment == nullptr) return std::nullopt;
  return FabricCost{segment->alpha_us + segment->beta_us_per_byte * bytes, segment->alpha_us};
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
  return cost_on(fit.operations, operation, bytes);
}

std::optional<FabricCost> fabric_cost_of(const FabricFit& fit, const std::string& type, const std::string& operation,
                                         double bytes) {
  const auto found = fit.types.find(type);
  return found == fit.types.end() ? std::nullopt : cost_on(found->second, operation, bytes);
}

FabricFit preferring(const FabricFit& fit, const std::string& type) {
  FabricFit preferred = fit;
  if (const auto found = fit.types.find(type); found != fit.types.end())
    for (const auto& [operation, segments] : found->second) preferred.operations[operation] = segments;
  return preferred;
}

void choose_curves(FabricFit& fit) {
  fit.operations.clear();
  if (const auto floats = fit.types.find(kFloat); floats != fit.types.end()) fit.operations = floats->second;
  for (const auto& [type, operations] : fit.types) fit.operations.insert(operations.begin(), operations.end());
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
  std::map<std::string, Rank> standing;                              // operation
  std::map<std::pair<std::string, std::string>, Rank> best_of_type;  // type, operation
  for (const auto& row : table.rows()) {
    if (!usable(row)) continue;
    const std::string operation = table.text(row, "operation");
    keep_best(standing, operation, rank_of(table, row));
    keep_best(best_of_type, {type_word(table.text(row, "type")), operation}, rank_of(table, row));
  }
  FabricFit fit;
  for (const auto& row : table.rows()) {
    const std::string operation = table.text(row, "operation"), type = type_word(table.text(row, "type"));
    if (!usable(row) || best_of_type.at({type, operation}) != rank_of(table, row)) continue;
    const auto number = [&](const char* column) { return table.number(row, column).value_or(0); };
    const FabricSegment segment{static_cast<std::int64_t>(number("from_bytes")),
                                static_cast<std::int64_t>(number("to_bytes")), number("alpha_us"),
                                number("us_per_mib") / (1 << 20)};
    fit.types[type][operation].push_back(segment);
    if (standing.at(operation) != rank_of(table, row)) continue;
    fit.operations[operation].push_back(segment);
    if (const auto ranks = table.number(row, "ranks")) fit.ranks = static_cast<int>(*ranks);
  }
  return fit.operations.empty() ? std::nullopt : std::optional(fit);
}

std::optional<FabricFit> fabric_of(const Inputs& inputs, const SeriesSet& concluded) {
  return inputs.fabric ? inputs.fabric : fabric_fit_of(concluded);
}

}  // namespace gradsync
