#include "analyzers/fabric_curves.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

namespace gradsync {
namespace {

constexpr std::string_view kSamples = "sweep_samples.", kRows = "sweep.", kFloatType = "float";

using Key = std::tuple<std::string, std::string, std::string, std::string, double>;  // type, load, source, place, ranks

class Collector {
 public:
  explicit Collector(std::string operation) : operation_(std::move(operation)) {}

  void add(const Key& key, std::optional<double> bytes, std::optional<double> us) {
    if (bytes && *bytes > 0 && us && *us > 0) times_[key][static_cast<std::int64_t>(*bytes)].push_back(*us);
  }

  void write(std::vector<FabricCurve>& curves) const {
    for (const auto& [key, sizes] : times_) {
      const auto& [type, load, source, place, ranks] = key;
      FabricCurve curve{operation_, type, load, source, place, ranks > 0 ? ranks : kNotMeasured, {}};
      for (const auto& [bytes, us] : sizes) curve.sizes.push_back({bytes, us});
      curves.push_back(std::move(curve));
    }
  }

 private:
  std::string operation_;
  std::map<Key, std::map<std::int64_t, std::vector<double>>> times_;
};

}  // namespace

std::size_t FabricCurve::fewest_repeats() const {
  std::size_t fewest = sizes.empty() ? 0 : sizes.front().us.size();
  for (const SizeSample& size : sizes) fewest = std::min(fewest, size.us.size());
  return fewest;
}

std::vector<FabricCurve> fabric_curves(const SeriesSet& series, double live_ranks) {
  std::vector<FabricCurve> curves;
  const double ranks = live_ranks > 0 ? live_ranks : 0;  // a key must compare equal to itself
  for (const auto& [name, samples] : series) {
    if (!name.starts_with(kSamples)) continue;
    Collector collected(name.substr(kSamples.size()));
    const SeriesTable table(samples);
    for (const auto& row : table.rows())
      collected.add({table.text(row, "type"), table.text(row, "load"), std::string(kLiveSource), "", ranks},
                    table.number(row, "bytes"), table.number(row, "us"));
    collected.write(curves);
  }
  for (const auto& [name, rows] : series) {
    if (!name.starts_with(kRows) || name == "sweep.unknown") continue;
    const std::string operation = name.substr(kRows.size());
    const bool sampled = series.contains(std::string(kSamples) + operation);
    Collector collected(operation);
    const SeriesTable table(rows);
    for (const auto& row : table.rows()) {
      const std::string source = table.text(row, "source");
      if (sampled && source == kLiveSource) continue;
      collected.add({table.text(row, "type"), table.text(row, "load"), source, table.text(row, "place"),
                     table.number(row, "ranks").value_or(0)},
                    table.number(row, "bytes"), table.number(row, "p50_us"));
    }
    collected.write(curves);
  }
  return curves;
}

std::vector<FabricCurve> judged_curves(std::vector<FabricCurve> curves) {
  std::set<std::string> with_floats;
  for (const FabricCurve& curve : curves)
    if (curve.live() && curve.type == kFloatType) with_floats.insert(curve.operation);
  std::erase_if(curves, [&](const FabricCurve& curve) {
    return curve.live() && curve.type != kFloatType && with_floats.contains(curve.operation);
  });
  return curves;
}

bool swept_beside_floats(const SeriesTable& table, const std::vector<Cell>& row) {
  const auto live_floats = [&](const auto& other) {
    return table.text(other, "source") == kLiveSource && table.text(other, "type") == kFloatType;
  };
  return table.text(row, "source") == kLiveSource && table.text(row, "type") != kFloatType &&
         std::any_of(table.rows().begin(), table.rows().end(), live_floats);
}

std::vector<FabricCurve> joined_places(const std::vector<FabricCurve>& curves) {
  std::vector<FabricCurve> joined;
  for (const FabricCurve& curve : curves) {
    const auto same = std::find_if(joined.begin(), joined.end(), [&](const FabricCurve& other) {
      return other.operation == curve.operation && other.type == curve.type && other.load == curve.load &&
             other.source == curve.source && (other.ranks == curve.ranks || std::isnan(curve.ranks));
    });
    if (same == joined.end()) {
      joined.push_back(curve);
      joined.back().place.clear();
      continue;
    }
    std::map<std::int64_t, std::vector<double>> sizes;
    for (const std::vector<SizeSample>* one :
         std::initializer_list<const std::vector<SizeSample>*>{&same->sizes, &curve.sizes})
      for (const SizeSample& size : *one)
        sizes[size.bytes].insert(sizes[size.bytes].end(), size.us.begin(), size.us.end());
    same->sizes.clear();
    for (const auto& [bytes, us] : sizes) same->sizes.push_back({bytes, us});
  }
  return joined;
}

double fact_number(const Facts& facts, const std::string& name) {
  const auto fact = facts.find(name);
  if (fact == facts.end()) return kNotMeasured;
  double value = 0;
  const char* const end = fact->second.data() + fact->second.size();
  const auto [stopped, failed] = std::from_chars(fact->second.data(), end, value);
  return failed == std::errc{} && stopped == end ? value : kNotMeasured;
}

double live_ranks(const Inputs& inputs) {
  for (const char* name : {"sweep.ranks", "world_size", "nccl.ranks"})
    if (const double ranks = fact_number(inputs.facts, name); ranks > 0) return ranks;
  return inputs.run.ranks > 0 ? inputs.run.ranks : kNotMeasured;
}

double bus_factor(const std::string& operation, double ranks) {
  if (!(ranks > 0)) return kNotMeasured;
  if (operation == "all_reduce") return 2 * (ranks - 1) / ranks;
  for (const char* shared : {"all_gather", "reduce_scatter", "all_to_all", "gather", "scatter"})
    if (operation == shared) return (ranks - 1) / ranks;
  for (const char* whole : {"broadcast", "reduce", "send_recv"})
    if (operation == whole) return 1;
  return kNotMeasured;
}

}  // namespace gradsync
