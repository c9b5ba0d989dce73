// From which size on, and up to how many ranks, each measured compressor beats a dense all-reduce on this fabric: its own
// time plus that of what it sends, against the dense vector in fp32 and in fp16. Serial: what hides behind backward is
// the overlap's business. At the measured number of ranks by the measured curves, elsewhere by closed forms.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "analyzers/analyzers.h"
#include "analyzers/closed_form.h"
#include "analyzers/fabric_cost.h"
#include "analyzers/fabric_curves.h"

namespace gradsync {
namespace {

enum class Travel { gathered, reduced };

// What one rank hands in, in bytes per element of the dense vector. Selections: 1 % of the elements, the loads' own
// default, with 32-bit indices and values; ranks that draw the same positions send no indices and can sum.
struct Wire {
  std::string_view algorithm;
  Travel travel = Travel::gathered;
  double bytes_per_element = 0;
};
constexpr double kDensity = 0.01;
constexpr std::array<Wire, 9> kWires{{{"topk_sort", Travel::gathered, kDensity * 8},
                                      {"topk_select", Travel::gathered, kDensity * 8},
                                      {"topk_histogram", Travel::gathered, kDensity * 8},
                                      {"dgc", Travel::gathered, kDensity * 8},
                                      {"randomk", Travel::reduced, kDensity * 4},
                                      {"onebit_ef", Travel::gathered, 1.0 / 8},
                                      {"cast16", Travel::reduced, 2},
                                      {"cast8", Travel::gathered, 1},
                                      {"qsgd", Travel::gathered, 1}}};
constexpr int kMostRanks = 65536;

// Milliseconds over elements; between two measured sizes by a power law.
using Times = std::map<double, double>;

double ms_at(const Times& times, double elements) {
  const auto above = times.lower_bound(elements);
  if (above->first == elements || above == times.begin()) return above->second;
  const auto below = std::prev(above);
  const double part = std::log(elements / below->first) / std::log(above->first / below->first);
  return below->second * std::pow(above->second / below->second, part);
}

class Comparison {
 public:
  Comparison(const FabricFit& fit, const Wire& wire, const Times& times, double dense_bytes)
      : fit_(fit), wire_(wire), times_(times), dense_(dense_bytes) {}

  // What the compressor saves at this many elements; absent where the fabric was not measured.
  std::optional<double> saved_us(double elements) const {
    const double sent = elements * wire_.bytes_per_element;
    const auto dense = cost_us(fit_, "all_reduce", elements * dense_);
    const auto packed = wire_.travel == Travel::reduced ? cost_us(fit_, "all_reduce", sent)
                                                        : cost_us(fit_, "all_gather", sent * fit_.ranks);
    if (!dense || !packed) return std::nullopt;
    return *dense - *packed - 1e3 * ms_at(times_, elements);
  }

  // Elements from which on it wins at every size up to the largest measured.
  std::optional<double> least_elements() const {
    std::optional<double> least;
    for (double elements = times_.rbegin()->first;; elements /= std::sqrt(2.0)) {
      elements = std::max(elements, times_.begin()->first);
      const std::optional<double> saved = saved_us(elements);
      if (saved && *saved <= 0) break;
      if (saved) least = elements;
      if (elements <= times_.begin()->first) break;
    }
    return least;
  }

  // By the closed forms, at the largest size that was measured.
  bool wins_with(double ranks) const {
    const double elements = times_.rbegin()->first, sent = elements * wire_.bytes_per_element;
    const auto links = [&](double bytes) { return links_at("all_reduce", bytes); };
    const Links of_dense = links(elements * dense_);
    const double dense = ring_all_reduce_us(of_dense, elements * dense_, ranks);
    const double packed = wire_.travel == Travel::reduced
                              ? ring_all_reduce_us(links(sent), sent, ranks)
                              : all_gather_us(links_at("all_gather", sent * fit_.ranks), sent, ranks);
    return packed + 1e3 * ms_at(times_, elements) < dense;
  }

  // The most ranks with which it still wins; nothing: with no number of them, or however many there are.
  std::optional<int> most_ranks() const {
    if (!wins_with(2) || wins_with(kMostRanks)) return std::nullopt;
    int first = 2, end = kMostRanks;  // wins with first, not with end
    while (end - first > 1) {
      const int middle = (first + end) / 2;
      (wins_with(middle) ? first : end) = middle;
    }
    return first;
  }

 private:
  Links links_at(const std::string& operation, double bytes) const {
    const auto found = fit_.operations.find(operation);
    const std::string& use = found != fit_.operations.end() ? operation : kReduce;
    const std::vector<FabricSegment>& segments = fit_.operations.at(use);
    const FabricSegment* segment = segment_at(segments, bytes);
    if (segment == nullptr)
      segment = bytes < static_cast<double>(segments.front().from_bytes) ? &segments.front() : &segments.back();
    return use == kReduce ? links_of_all_reduce(*segment, fit_.ranks) : links_of_all_gather(*segment, fit_.ranks);
  }

  static inline const std::string kReduce = "all_reduce";
  const FabricFit& fit_;
  const Wire& wire_;
  const Times& times_;
  double dense_;
};

class BreakEven final : public Analyzer {
 public:
  std::string_view name() const override { return "break_even"; }
  void summarise(const RankTimeline&, const Inputs&, Summary&) const override {}
  void conclude(const Summary&, const Inputs& inputs, Conclusions& conclusions) const override {
    const std::optional<FabricFit> fit = fabric_of(inputs, conclusions.series);
    if (!fit || fit->ranks < 2 || !fit->operations.contains("all_reduce")) return;
    std::map<std::pair<std::string, std::string>, Times> by_load;
    for (const LoadProfile& load : inputs.loads)
      if (load.elements > 0 && load.ms_p50 > 0)
        by_load[{load.algorithm, load.device}][static_cast<double>(load.elements)] = load.ms_p50;
    Series series{"break_even", {"algorithm", "device", "against", "ranks", "min_bytes", "max_ranks", "basis"}, {}};
    for (const auto& [load, times] : by_load)
      for (const Wire& wire : kWires)
        if (wire.algorithm == load.first) add_rows(*fit, wire, load.second, times, series);
    if (!series.rows.empty()) conclusions.series["break_even"] = std::move(series);
  }

 private:
  static void add_rows(const FabricFit& fit, const Wire& wire, const std::string& device, const Times& times,
                       Series& series) {
    for (const auto& [against, bytes] : {std::pair{"fp32 all_reduce", 4.0}, std::pair{"fp16 all_reduce", 2.0}}) {
      const Comparison comparison(fit, wire, times, bytes);
      const std::optional<double> least = comparison.least_elements();
      const std::optional<int> most = comparison.most_ranks();
      const bool measured = comparison.saved_us(times.rbegin()->first).has_value();
      series.rows.push_back({std::string(wire.algorithm), device, std::string(against), std::int64_t{fit.ranks},
                             least ? Cell(static_cast<std::int64_t>(std::llround(*least * 4))) : Cell(kNotMeasured),
                             most ? Cell(std::int64_t{*most}) : Cell(kNotMeasured), basis(measured, most.has_value())});
    }
  }

  static std::string basis(bool measured, bool ranks_limited) {
    const std::string ranks = "closed form for other ranks";
    if (!measured) return "extrapolated " + ranks;
    return ranks_limited ? "measured curve; " + ranks : "measured curve";
  }
};

}  // namespace

std::unique_ptr<Analyzer> make_break_even() { return std::make_unique<BreakEven>(); }

}  // namespace gradsync
