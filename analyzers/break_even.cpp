// From which size on, and up to how many ranks, each measured compressor beats a dense all-reduce on this fabric: its own
// time, decoding, and that of what it sends, against the dense vector in fp32 and in fp16. Serial: what hides behind
// backward is the overlap's business. At the measured number of ranks by the measured curves, elsewhere by closed forms.
// Of `scatter` it is reconstruction alone: what it leaves to a selection.
#include <algorithm>
#include <cmath>
#include <tuple>

#include "analyzers/analyzers.h"
#include "analyzers/fabric_cost.h"
#include "analyzers/fabric_curves.h"
#include "analyzers/load_cost.h"

namespace gradsync {
namespace {

constexpr int kMostRanks = 65536;

class Comparison {
 public:
  // `dense_fit`: the same fabric, for the dense vector's type.
  Comparison(const FabricFit& fit, const FabricFit& dense_fit, Travel travel, const LoadCurve& load, double dense_bytes)
      : fit_(fit), dense_fit_(dense_fit), travel_(travel), load_(load), dense_(dense_bytes) {}

  // What the compressor saves at this many elements; absent where the fabric was not measured.
  std::optional<double> saved_us(double elements) const {
    const auto dense = cost_us(dense_fit_, "all_reduce", elements * dense_);
    const auto packed = exchange_us(fit_, travel_, load_.wire_bytes(elements));
    if (!dense || !packed) return std::nullopt;
    return *dense - *packed - 1e3 * load_.both_ms(elements, fit_.ranks);
  }

  // Elements from which on it wins at every size up to the largest measured.
  std::optional<double> least_elements() const {
    std::optional<double> least;
    for (double elements = load_.most_elements();; elements /= std::sqrt(2.0)) {
      elements = std::max(elements, load_.least_elements());
      const std::optional<double> saved = saved_us(elements);
      if (saved && *saved <= 0) break;
      if (saved) least = elements;
      if (elements <= load_.least_elements()) break;
    }
    return least;
  }

  // By the closed forms, at the largest size that was measured.
  bool wins_with(double ranks) const {
    const double elements = load_.most_elements();
    const double dense = closed_exchange_us(dense_fit_, Travel::reduced, elements * dense_, ranks);
    const double packed = closed_exchange_us(fit_, travel_, load_.wire_bytes(elements), ranks);
    return packed + 1e3 * load_.both_ms(elements, ranks) < dense;
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
  const FabricFit &fit_, &dense_fit_;
  Travel travel_;
  const LoadCurve& load_;
  double dense_;
};

class BreakEven final : public Analyzer {
 public:
  std::string_view name() const override { return "break_even"; }
  void summarise(const RankTimeline&, const Inputs&, Summary&) const override {}
  void conclude(const Summary&, const Inputs& inputs, Conclusions& conclusions) const override {
    const std::optional<FabricFit> fit = fabric_of(inputs, conclusions.series);
    if (!fit || fit->ranks < 2 || !fit->operations.contains("all_reduce")) return;
    Series series{"break_even", {"algorithm", "device", "against", "ranks", "min_bytes", "max_ranks", "basis"}, {}};
    for (const auto& [algorithm, device] : measured_loads(inputs.loads))
      add_rows(*fit, algorithm, device, inputs.loads, series);
    if (!series.rows.empty()) conclusions.series["break_even"] = std::move(series);
  }

 private:
  static void add_rows(const FabricFit& fit, const std::string& algorithm, const std::string& device,
                       const std::vector<LoadProfile>& loads, Series& series) {
    const LoadCurve load(loads, algorithm, device);
    const FabricFit of_halves = preferring(fit, kHalf);
    for (const auto& [against, dense_fit, bytes] :
         {std::tuple{"fp32 all_reduce", &fit, 4.0}, std::tuple{"fp16 all_reduce", &of_halves, 2.0}}) {
      const Comparison comparison(fit, *dense_fit, traffic_of(algorithm)->travel, load, bytes);
      const std::optional<double> least = comparison.least_elements();
      const std::optional<int> most = comparison.most_ranks();
      const bool measured = comparison.saved_us(load.most_elements()).has_value();
      series.rows.push_back({algorithm, device, std::string(against), std::int64_t{fit.ranks},
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
