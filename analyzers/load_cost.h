// What a measured reference load costs at any size: its own time, and what it puts on the fabric. Pure.
//
// Between two measured sizes times follow a power law; outside of them the nearest measured size gives the time per
// element, and never less than the time of the smallest. Payloads of more ranks take as much longer to decode.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/model/inputs.h"

namespace gradsync {

// How payloads travel.
enum class Travel {
  gathered,  // an all-gather of every rank's payload, then all are decoded
  reduced,   // an all-reduce: one sum is decoded
  factors,   // two all-reduces, of one factor each (PowerSGD)
  served,    // pushed to a server by all, pulled from it by all
};

struct LoadTraffic {
  std::string_view algorithm;
  Travel travel = Travel::gathered;
  // Bytes a rank sends for one element, where no profile tells: of selections of a share r, r × (4 + 4).
  double bytes_per_element = 0, bytes_per_selected = 0;
};
// Null for a load that is not known.
const LoadTraffic* traffic_of(std::string_view algorithm);

class LoadCurve {
 public:
  // Of one algorithm on one device; empty when it was not measured.
  LoadCurve(const std::vector<LoadProfile>& loads, std::string_view algorithm, std::string_view device);
  bool empty() const { return by_elements_.empty(); }
  double least_elements() const { return by_elements_.begin()->first; }
  double most_elements() const { return by_elements_.rbegin()->first; }

  // Of the half that the load is about: compression, of decoders and servers decompression. The level runs from 0 to 1
  // and picks a time between p10 (0), p50 (0.5) and p90 (1).
  double own_ms(double elements, double level = 0.5) const;
  // Of the payloads of `ranks` ranks (reduced, factors: of their one sum); nothing where the profile does not tell.
  std::optional<double> decode_ms(double elements, double ranks, double level = 0.5) const;
  // Both halves, as far as they are known; decoders and servers have one.
  double both_ms(double elements, double ranks, double level = 0.5) const;
  bool knows_decode() const;
  double wire_bytes(double elements) const;

 private:
  template <class Value>
  double at(double elements, const Value& value) const;

  const LoadTraffic* traffic_ = nullptr;
  std::map<double, LoadProfile> by_elements_;
};

// Algorithm and device of all that were measured.
std::set<std::pair<std::string, std::string>> measured_loads(const std::vector<LoadProfile>& loads);

// Microseconds until every rank has what all sent, `wire_bytes` from each; nothing where the fabric was not measured.
std::optional<double> exchange_us(const FabricFit& fit, Travel travel, double wire_bytes);
// The same by closed forms, for any number of ranks, from what was measured next to these bytes.
double closed_exchange_us(const FabricFit& fit, Travel travel, double wire_bytes, double ranks);

}  // namespace gradsync
