#include "analyzers/predict/graph_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <regex>

#include "analyzers/predict/trace_graph.h"
#include "src/base/rank_test.h"
#include "src/base/statistics.h"
#include "src/model/series_table.h"

namespace gradsync {
namespace {

constexpr std::string_view kSteps = "whatif_steps", kStages = "whatif_stages", kExchanges = "whatif_exchanges",
                           kBuckets = "whatif_buckets";
constexpr const char *kError = "_error", *kBuilt = "_built";
constexpr std::int64_t kAll = 2;         // part: besides the halves 0 and 1
constexpr std::size_t kMostSteps = 400;  // more tell nothing new
constexpr std::size_t kKeptSteps = 12, kTestedSteps = 48;
constexpr double kMostDrift = 0.10, kDriftP = 0.01;
constexpr std::size_t kFewestAlike = 6;
constexpr double kStepTolerance = 0.05, kClassTolerance = 0.10, kSmallClass = 0.02;
constexpr double kFalseRefusal = 0.05, kMostByChance = 0.10;  // probability over all comparisons; share of the step

// Which half: neither every other step nor any other period. Steps of an A/B come in fours, so that every other step would
// compare the first ones of each four with the last ones. (The sequence of Thue and Morse; it also cancels a drift.)
std::int64_t half_of(std::size_t step) { return std::popcount(step) % 2; }

// Standard errors that the largest of so many independent differences stays below, with all but kFalseRefusal: at two, one
// of twenty comparisons would refuse a steady job, and there is one for each class of each rank.
double errors_by_chance(std::size_t comparisons) {
  const double each = kFalseRefusal / static_cast<double>(comparisons);
  double low = 0, high = 10;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (std::erfc(middle / std::sqrt(2.0)) > each ? low : high) = middle;
  }
  return high;
}

bool drifts(double first_ns, double second_ns, double p) {
  return p < kDriftP && std::abs(second_ns - first_ns) > kMostDrift * first_ns;
}

std::vector<std::string> columns(std::vector<std::string> names) {
  for (std::size_t i = 0; i < kStepClasses; ++i) names.emplace_back(class_name(static_cast<StepClass>(i)));
  return names;
}

// Standard error of a median, from the quartiles.
double error_of(const std::vector<double>& values) {
  const double spread = (quantile(values, 0.75).value_or(0) - quantile(values, 0.25).value_or(0)) / 1.349;
  return 1.2533 * spread / std::sqrt(static_cast<double>(values.size()));
}
Cell whole(double value) { return static_cast<std::int64_t>(std::llround(value)); }

// Mean of the middle half, of any number that each step has.
template <class Step, class Value>
double middle_mean(const std::vector<const Step*>& by_length, const Value& value) {
  const std::size_t cut = by_length.size() / 4;
  double sum = 0;
  for (std::size_t i = cut; i + cut < by_length.size(); ++i) sum += value(*by_length[i]);
  return sum / static_cast<double>(by_length.size() - 2 * cut);
}

// Standard error of that mean, from the squares: a class may be nothing in most steps and much in a few, of which quartiles
// know nothing. Of few steps the quartiles of all know more: the larger error counts.
template <class Step, class Value>
double middle_error(const std::vector<const Step*>& by_length, const Value& value) {
  const double mean = middle_mean(by_length, value);
  const auto square = [&](const Step& step) { return (value(step) - mean) * (value(step) - mean); };
  const std::size_t count = by_length.size() - 2 * (by_length.size() / 4);
  return count < 2 ? 0 : std::sqrt(middle_mean(by_length, square) / static_cast<double>(count - 1));
}

}  // namespace

void GraphRows::take(const StepSpan& step, const StepActivity& seen, const Activity& claimed) {
  if (step.warm_up || step.variant != 0 || steps_.size() >= kMostSteps) return;
  Seen one{graph_of(rank_, step, seen, claimed, path_), static_cast<double>(step.end - step.start)};
  one.on_device = seen.on_device;
  one.deep = step.deep;
  if (seen.on_device) one.sort_ns = sorting_ns(step);
  for (std::size_t i = 0; i < kStepClasses; ++i) one.classes[i] = static_cast<double>(claimed.of[i].length());
  steps_.push_back(std::move(one));
}

// Kernels that put the few entries in order which a radix select has chosen.
double GraphRows::sorting_ns(const StepSpan& step) {
  static const std::regex sort("bitonicSort|radixSort|RadixSort|SegmentedSort");
  const RankTimeline::Range range = rank_.beginning_in(step.interval());
  double ns = 0;
  for (std::size_t i = range.first; i < range.last; ++i) {
    const Event& event = rank_.events[i];
    if (event.kind != Kind::kernel) continue;
    const auto [known, added] = sorts_.try_emplace(event.name);
    if (added) {
      const std::string_view name = rank_.name(event);
      known->second = std::regex_search(name.begin(), name.end(), sort);
    }
    if (known->second) ns += static_cast<double>(event.duration());
  }
  return ns;
}

void GraphRows::write(Summary& summary) const {
  // Plain steps; where the device was recorded in the window alone, the window's.
  const bool window = std::any_of(steps_.begin(), steps_.end(), [](const Seen& s) { return s.on_device && s.deep; }) &&
                      std::none_of(steps_.begin(), steps_.end(), [](const Seen& s) { return s.on_device && !s.deep; });
  std::vector<const Seen*> counted;
  for (const Seen& one : steps_)
    if (one.deep == window) counted.push_back(&one);
  std::vector<const Seen*> alike;
  for (const Seen* shape : counted) {
    std::vector<const Seen*> same;
    for (const Seen* one : counted)
      if (same_shape(one->graph, shape->graph)) same.push_back(one);
    if (same.size() > alike.size()) alike = std::move(same);
    if (2 * alike.size() > counted.size()) break;
  }
  if (alike.empty()) return;
  const std::size_t all_alike = alike.size();
  const Drift drift = trim(alike);
  for (std::int64_t part = 0; part < 3; ++part) {
    std::vector<const Seen*> chosen;
    for (std::size_t i = 0; i < alike.size(); ++i)
      if (part == kAll || half_of(i) == part) chosen.push_back(alike[i]);
    if (chosen.empty()) continue;
    std::stable_sort(chosen.begin(), chosen.end(),
                     [](const Seen* a, const Seen* b) { return a->step_ns < b->step_ns; });
    write_part(part, chosen, counted.size(), all_alike, drift, summary);
    if (part != kAll) continue;
    const std::size_t cut = chosen.size() / 4, middle = chosen.size() - 2 * cut;
    const std::size_t kept = std::min(middle, kKeptSteps);
    for (std::size_t i = 0; i < kept; ++i)
      write_graph(static_cast<std::int64_t>(i), chosen[cut + (2 * i + 1) * middle / (2 * kept)]->graph, summary);
  }
}

// A job that is still getting faster (caches, clocks, a neighbour that ends) is told by its later steps: up to half of them
// are left out at the front until the rest does not drift. What is left of the drift.
GraphRows::Drift GraphRows::trim(std::vector<const Seen*>& in_order) {
  Drift drift = drift_of(in_order);
  for (const std::size_t share : {4, 2}) {
    const std::size_t cut = in_order.size() / share;
    if (!drifts(drift.first_ns, drift.second_ns, drift.p) || in_order.size() - cut < 2 * kFewestAlike) break;
    const std::vector<const Seen*> later(in_order.begin() + static_cast<std::ptrdiff_t>(cut), in_order.end());
    const Drift left = drift_of(later);
    if (drifts(left.first_ns, left.second_ns, left.p)) continue;
    in_order = later;
    return left;
  }
  return drift;
}

// Of the second half of the steps against the first, in the order in which they ran.
GraphRows::Drift GraphRows::drift_of(const std::vector<const Seen*>& in_order) {
  std::vector<double> first, second;
  for (std::size_t i = 0; i < in_order.size(); ++i)
    (2 * i < in_order.size() ? first : second).push_back(in_order[i]->step_ns);
  Drift drift;
  drift.first_ns = median(first).value_or(0);
  drift.second_ns = median(second).value_or(0);
  const std::vector<double> a = thinned(first, kTestedSteps), b = thinned(second, kTestedSteps);
  drift.p = 2 * std::min(mann_whitney_greater(a, b), mann_whitney_greater(b, a));
  return drift;
}

void GraphRows::write_part(std::int64_t part, const std::vector<const Seen*>& chosen, std::size_t counted,
                           std::size_t alike, const Drift& drift, Summary& summary) const {
  Series& steps = summary.table(kSteps, columns({"rank", "part", "steps", "alike", "on_device", "syncs", "sort_ns",
                                                 "step_ns", "spread_ns", "built_ns", "first_ns", "second_ns", "p"}));
  if (steps.rows.empty())
    for (const char* suffix : {kError, kBuilt})
      for (std::size_t i = 0; i < kStepClasses; ++i)
        steps.columns.push_back(std::string(class_name(static_cast<StepClass>(i))) + suffix);
  std::vector<double> lengths;
  std::map<const Seen*, Replayed> built;
  for (const Seen* one : chosen) {
    lengths.push_back(one->step_ns);
    built[one] = replay(one->graph);
  }
  std::vector<Cell> row{std::int64_t{rank_.rank},
                        part,
                        static_cast<std::int64_t>(counted),
                        static_cast<std::int64_t>(alike),
                        std::int64_t{chosen[0]->on_device},
                        std::int64_t{path_.framework_syncs},
                        whole(middle_mean(chosen, [](const Seen& s) { return s.sort_ns; })),
                        whole(middle_mean(chosen, [](const Seen& s) { return s.step_ns; })),
                        whole(error_of(lengths)),
                        whole(middle_mean(chosen, [&](const Seen& s) { return built[&s].step_ns; })),
                        whole(drift.first_ns),
                        whole(drift.second_ns),
                        drift.p};
  for (std::size_t i = 0; i < kStepClasses; ++i)
    row.push_back(whole(middle_mean(chosen, [i](const Seen& s) { return s.classes[i]; })));
  for (std::size_t i = 0; i < kStepClasses; ++i) {
    std::vector<double> values;
    for (const Seen* one : chosen) values.push_back(one->classes[i]);
    const double of_mean = middle_error(chosen, [i](const Seen& s) { return s.classes[i]; });
    row.push_back(whole(std::max(error_of(values), of_mean)));
  }
  for (std::size_t i = 0; i < kStepClasses; ++i)
    row.push_back(whole(middle_mean(chosen, [&](const Seen& s) { return built[&s].classes[i]; })));
  steps.rows.push_back(std::move(row));
}

void GraphRows::write_graph(std::int64_t sample, const StepGraph& graph, Summary& summary) const {
  Series& stages = summary.table(kStages, columns({"rank", "sample", "place", "anchor", "index"}));
  Series& exchanges = summary.table(kExchanges, {"rank", "sample", "place", "operation", "group", "dtype", "bytes",
                                                 "bucket", "compressed", "seen", "wait_ns", "transfer_ns"});
  Series& buckets = summary.table(kBuckets, {"rank", "sample", "place", "bytes"});
  const std::int64_t rank = rank_.rank;
  for (std::size_t i = 0; i < graph.stages.size(); ++i) {
    const Stage& stage = graph.stages[i];
    std::vector<Cell> cells{rank, sample, static_cast<std::int64_t>(i), static_cast<std::int64_t>(stage.anchor.kind),
                            stage.anchor.index};
    for (const double ns : stage.ns) cells.push_back(whole(ns));
    stages.rows.push_back(std::move(cells));
  }
  for (std::size_t i = 0; i < graph.exchanges.size(); ++i) {
    const Exchange& one = graph.exchanges[i];
    exchanges.rows.push_back({rank, sample, static_cast<std::int64_t>(i), one.operation, one.group, one.dtype,
                              one.bytes, one.bucket, std::int64_t{one.compressed}, std::int64_t{one.seen},
                              whole(one.wait_ns), whole(one.transfer_ns)});
  }
  for (std::size_t i = 0; i < graph.bucket_bytes.size(); ++i)
    buckets.rows.push_back({rank, sample, static_cast<std::int64_t>(i), graph.bucket_bytes[i]});
}

namespace {

class GraphReader {
 public:
  explicit GraphReader(const Summary& summary) : summary_(summary) {}

  std::vector<RankGraphs> run() {
    each_row(kSteps, [](const SeriesRow& row, RankGraphs& rank) {
      const std::int64_t which = whole_of(row, "part");
      GraphPart& part = (which == 0 ? rank.half : which == 1 ? rank.other_half : rank.all).emplace();
      rank.steps = whole_of(row, "steps");
      rank.alike = whole_of(row, "alike");
      rank.on_device = whole_of(row, "on_device") != 0;
      rank.framework_syncs = whole_of(row, "syncs") != 0;
      rank.sort_ns = number(row, "sort_ns");
      part.step_ns = number(row, "step_ns");
      part.spread_ns = number(row, "spread_ns");
      part.classes = classes(row);
      part.errors = classes(row, kError);
      part.built_ns = number(row, "built_ns");
      part.built = classes(row, kBuilt);
      if (which != kAll) return;
      rank.first_ns = number(row, "first_ns");
      rank.second_ns = number(row, "second_ns");
      rank.drift_p = row.number("p").value_or(1);
    });
    each_graph(kStages, [](const SeriesRow& row, StepGraph& graph) {
      graph.stages.push_back(
          {classes(row), {static_cast<AnchorKind>(whole_of(row, "anchor")), whole_of(row, "index")}});
    });
    each_graph(kExchanges, [](const SeriesRow& row, StepGraph& graph) {
      graph.exchanges.push_back({row.text("operation"), row.text("group"), row.text("dtype"), whole_of(row, "bytes"),
                                 whole_of(row, "bucket"), whole_of(row, "compressed") != 0, whole_of(row, "seen") != 0,
                                 number(row, "wait_ns"), number(row, "transfer_ns")});
    });
    each_graph(kBuckets,
               [](const SeriesRow& row, StepGraph& graph) { graph.bucket_bytes.push_back(whole_of(row, "bytes")); });
    std::vector<RankGraphs> all;
    for (auto& [number, rank] : ranks_) all.push_back(std::move(rank));
    return all;
  }

 private:
  static double number(const SeriesRow& row, std::string_view column) { return row.number(column).value_or(0); }
  static std::int64_t whole_of(const SeriesRow& row, std::string_view column) {
    return static_cast<std::int64_t>(number(row, column));
  }
  static ClassTimes classes(const SeriesRow& row, const std::string& suffix = "") {
    ClassTimes times{};
    for (std::size_t i = 0; i < kStepClasses; ++i)
      times[i] = number(row, std::string(class_name(static_cast<StepClass>(i))) + suffix);
    return times;
  }

  template <class Function>
  void each_row(std::string_view name, const Function& function) {
    const Series* table = summary_.find(name);
    if (table == nullptr) return;
    for (const SeriesRow& row : rows_of(*table)) {
      RankGraphs& rank = ranks_[whole_of(row, "rank")];
      rank.rank = static_cast<int>(whole_of(row, "rank"));
      function(row, rank);
    }
  }

  template <class Function>
  void each_graph(std::string_view name, const Function& function) {
    each_row(name, [&](const SeriesRow& row, RankGraphs& rank) {
      const auto sample = static_cast<std::size_t>(whole_of(row, "sample"));
      if (sample >= rank.graphs.size()) rank.graphs.resize(sample + 1);
      function(row, rank.graphs[sample]);
    });
  }

  const Summary& summary_;
  std::map<std::int64_t, RankGraphs> ranks_;
};

}  // namespace

std::vector<RankGraphs> read_graphs(const Summary& summary) { return GraphReader(summary).run(); }

std::string why_not_alike(const RankGraphs& rank, std::size_t ranks) {
  if (rank.alike < static_cast<std::int64_t>(kFewestAlike) || !rank.half || !rank.other_half)
    return fmt::format("{} of the {} steps of rank {} do their work in one order: six are needed", rank.alike,
                       rank.steps, rank.rank);
  if (2 * rank.alike < rank.steps)
    return fmt::format("{} of the {} steps of rank {} do their work in one order: half of them is needed", rank.alike,
                       rank.steps, rank.rank);
  if (drifts(rank.first_ns, rank.second_ns, rank.drift_p))
    return fmt::format("the steps of rank {} drift: {:.1f} ms in the first half of the run, {:.1f} ms in the second",
                       rank.rank, 1e-6 * rank.first_ns, 1e-6 * rank.second_ns);
  const GraphPart &half = *rank.half, &other = *rank.other_half;
  const double step = other.step_ns;
  const double errors = errors_by_chance(ranks * (1 + kStepClasses));
  const auto by_chance = [step, errors](double a, double b) {
    return std::min(errors * std::sqrt(a * a + b * b), kMostByChance * step);
  };
  const double off = std::abs(half.built_ns - step);
  if (off > std::max(kStepTolerance * step, by_chance(half.spread_ns, other.spread_ns)))
    return fmt::format(
        "a step built from one half of the steps of rank {} ({:.1f} ms) is {:.0f} % off the other half ({:.1f} ms)",
        rank.rank, 1e-6 * half.built_ns, 100 * off / step, 1e-6 * step);
  for (std::size_t i = 0; i < kStepClasses; ++i) {
    const double seen = other.classes[i], away = std::abs(half.built[i] - seen);
    const double allowed =
        std::max({kClassTolerance * seen, kSmallClass * step, by_chance(half.errors[i], other.errors[i])});
    if (away > allowed)
      return fmt::format("{} of a step built from one half of the steps of rank {} is {:.1f} ms off the other half",
                         class_name(static_cast<StepClass>(i)), rank.rank, 1e-6 * away);
  }
  return "";
}

}  // namespace gradsync
