#include "analyzers/load_cost.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "analyzers/closed_form.h"
#include "analyzers/fabric_cost.h"

namespace gradsync {
namespace {

constexpr double kUsualShare = 0.01;  // what selections send when nothing else is said
constexpr std::array<LoadTraffic, 12> kLoads{{{"topk_sort", Travel::gathered, 0, 8},
                                              {"topk_select", Travel::gathered, 0, 8},
                                              {"topk_histogram", Travel::gathered, 0, 8},
                                              {"dgc", Travel::gathered, 0, 8},
                                              {"scatter", Travel::gathered, 0, 8},
                                              {"randomk", Travel::reduced, 0, 4},  // all draw the same positions
                                              {"onebit_ef", Travel::gathered, 1.0 / 8, 0},
                                              {"cast16", Travel::reduced, 2, 0},
                                              {"cast8", Travel::gathered, 1, 0},
                                              {"qsgd", Travel::gathered, 1, 0},
                                              {"powersgd", Travel::factors, 0, 0},
                                              {"param_server", Travel::served, 4, 0}}};
constexpr double kPowersgdRank = 4;  // of a nearly square matrix: 4 r (a + b) bytes, a = b = √n

bool decodes(std::string_view algorithm) { return algorithm == "scatter" || algorithm == "param_server"; }

double between(const LoadTimes& times, double level) {
  return level < 0.5 ? times.p10 + (times.p50 - times.p10) * 2 * level
                     : times.p50 + (times.p90 - times.p50) * (2 * level - 1);
}

// The segment next to these bytes, however far.
const FabricSegment& nearest_segment(const std::vector<FabricSegment>& segments, double bytes) {
  if (const FabricSegment* found = segment_at(segments, bytes)) return *found;
  return bytes < static_cast<double>(segments.front().from_bytes) ? segments.front() : segments.back();
}

Links links_for(const FabricFit& fit, const std::string& operation, double bytes) {
  const auto found = fit.operations.find(operation);
  if (found != fit.operations.end() && operation == "all_gather")
    return links_of_all_gather(nearest_segment(found->second, bytes), fit.ranks);
  return links_of_all_reduce(nearest_segment(fit.operations.at("all_reduce"), bytes), fit.ranks);
}

// Every worker pushes as much as it pulls; one node serves them all, so that its link carries every push and every pull.
double served_us(const Links& links, double bytes, double ranks) {
  return 2 * (links.hop_us + ranks * bytes * links.us_per_byte);
}

}  // namespace

const LoadTraffic* traffic_of(std::string_view algorithm) {
  const auto found =
      std::find_if(kLoads.begin(), kLoads.end(), [&](const LoadTraffic& load) { return load.algorithm == algorithm; });
  return found == kLoads.end() ? nullptr : &*found;
}

LoadCurve::LoadCurve(const std::vector<LoadProfile>& loads, std::string_view algorithm, std::string_view device)
    : traffic_(traffic_of(algorithm)) {
  for (const LoadProfile& load : loads)
    if (traffic_ != nullptr && load.algorithm == algorithm && load.device == device && load.elements > 0 &&
        load.ms_p50 > 0)
      by_elements_[static_cast<double>(load.elements)] = load;
}

template <class Value>
double LoadCurve::at(double elements, const Value& value) const {
  const auto above = by_elements_.lower_bound(elements);
  if (above == by_elements_.end()) {
    const auto& [most, load] = *by_elements_.rbegin();
    return value(load) * elements / most;
  }
  if (above->first == elements || above == by_elements_.begin()) return value(above->second);
  const auto below = std::prev(above);
  const double part = std::log(elements / below->first) / std::log(above->first / below->first);
  const double low = value(below->second), high = value(above->second);
  return low > 0 && high > 0 ? low * std::pow(high / low, part) : low + (high - low) * part;
}

double LoadCurve::own_ms(double elements, double level) const {
  return at(elements, [level](const LoadProfile& load) {
    return between({load.ms_p10 > 0 ? load.ms_p10 : load.ms_p50, load.ms_p50, std::max(load.ms_p90, load.ms_p50)},
                   level);
  });
}

bool LoadCurve::knows_decode() const {
  return !empty() && std::all_of(by_elements_.begin(), by_elements_.end(),
                                 [](const auto& entry) { return entry.second.decompress.has_value(); });
}

std::optional<double> LoadCurve::decode_ms(double elements, double ranks, double level) const {
  if (!knows_decode()) return std::nullopt;
  const bool one_sum = traffic_->travel == Travel::reduced || traffic_->travel == Travel::factors;
  return at(elements, [&](const LoadProfile& load) {
    return between(*load.decompress, level) * (one_sum ? 1 : ranks) / std::max(load.ranks, 1);
  });
}

double LoadCurve::both_ms(double elements, double ranks, double level) const {
  if (!decodes(traffic_->algorithm)) return own_ms(elements, level) + decode_ms(elements, ranks, level).value_or(0);
  return decode_ms(elements, ranks, level).value_or(own_ms(elements, level));
}

double LoadCurve::wire_bytes(double elements) const {
  const auto above = by_elements_.lower_bound(elements);
  const LoadProfile& load = above == by_elements_.end() ? by_elements_.rbegin()->second : above->second;
  const double times = elements / static_cast<double>(load.elements);
  const bool factors = traffic_->travel == Travel::factors;
  if (load.wire_bytes > 0) return static_cast<double>(load.wire_bytes) * (factors ? std::sqrt(times) : times);
  if (factors) return 8 * kPowersgdRank * std::sqrt(elements);
  const double share = load.ratio > 0 ? load.ratio : kUsualShare;
  return elements * (traffic_->bytes_per_element + share * traffic_->bytes_per_selected);
}

std::set<std::pair<std::string, std::string>> measured_loads(const std::vector<LoadProfile>& loads) {
  std::set<std::pair<std::string, std::string>> found;
  for (const LoadProfile& load : loads)
    if (load.elements > 0 && load.ms_p50 > 0 && traffic_of(load.algorithm) != nullptr)
      found.insert({load.algorithm, load.device});
  return found;
}

std::optional<double> exchange_us(const FabricFit& fit, Travel travel, double wire_bytes) {
  switch (travel) {
    case Travel::gathered:
      return cost_us(fit, "all_gather", wire_bytes * fit.ranks);
    case Travel::reduced:
      return cost_us(fit, "all_reduce", wire_bytes);
    case Travel::factors: {
      const std::optional<double> half = cost_us(fit, "all_reduce", wire_bytes / 2);
      return half ? std::optional(2 * *half) : std::nullopt;
    }
    case Travel::served:
      if (!cost_us(fit, "all_reduce", wire_bytes)) return std::nullopt;
      return served_us(links_for(fit, "all_reduce", wire_bytes), wire_bytes, fit.ranks);
  }
  return std::nullopt;
}

double closed_exchange_us(const FabricFit& fit, Travel travel, double wire_bytes, double ranks) {
  switch (travel) {
    case Travel::gathered:
      return all_gather_us(links_for(fit, "all_gather", wire_bytes * fit.ranks), wire_bytes, ranks);
    case Travel::reduced:
      return ring_all_reduce_us(links_for(fit, "all_reduce", wire_bytes), wire_bytes, ranks);
    case Travel::factors:
      return 2 * ring_all_reduce_us(links_for(fit, "all_reduce", wire_bytes / 2), wire_bytes / 2, ranks);
    case Travel::served:
      return served_us(links_for(fit, "all_reduce", wire_bytes), wire_bytes, ranks);
  }
  return 0;
}

}  // namespace gradsync
