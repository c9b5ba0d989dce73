// Hardware counters of the kernels that compress the first bucket of a step (run --counters): one value for each step,
// over the kernels that ran until the bucket's first collective, each alone on the device.
//
// A share or a rate is the mean over the kernels, weighted by how long each ran; a sum is added up, an extreme kept.
#include <algorithm>
#include <cctype>
#include <map>
#include <vector>

#include "analyzers/analyzers.h"
#include "analyzers/rows.h"
#include "src/timeline/rank_timeline.h"

namespace gradsync {
namespace {

constexpr std::string_view kTable = "gpu_counters", kEvent = "gpu_counters";
constexpr std::string_view kDuration = "gpu__time_duration.sum";
constexpr double kThousandths = 1e-3;  // attributes are integers

struct Kernel {
  double value = 0, ns = 0;
};

// What the kernels of one range have in common in one metric.
double whole(std::string_view metric, const std::vector<Kernel>& kernels) {
  const auto less = [](const Kernel& a, const Kernel& b) { return a.value < b.value; };
  if (metric.ends_with(".max")) return std::max_element(kernels.begin(), kernels.end(), less)->value;
  if (metric.ends_with(".min")) return std::min_element(kernels.begin(), kernels.end(), less)->value;
  double sum = 0, weighted = 0, ns = 0;
  for (const Kernel& kernel : kernels) {
    sum += kernel.value;
    weighted += kernel.value * kernel.ns;
    ns += kernel.ns;
  }
  if (metric.ends_with(".sum")) return sum;
  return ns > 0 ? weighted / ns : sum / static_cast<double>(kernels.size());
}

std::vector<std::string> metrics_of(const RankTimeline& rank) {
  std::vector<std::string> names;
  const std::string list = rank.fact("counters.metrics");
  for (std::size_t begin = 0; begin < list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    names.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

// Metrics of the report are named in lower case.
std::string metric_name(std::string_view counter) {
  std::string name = "gpu.counters.";
  for (const char c : counter) {
    const char lower = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    name += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' ? lower : '_';
  }
  return name;
}

class GpuCountersAnalyzer final : public Analyzer {
 public:
  std::string_view name() const override { return "gpu_counters"; }

  void summarise(const RankTimeline& rank, const Inputs&, Summary& summary) const override {
    const std::vector<std::string> metrics = metrics_of(rank);
    if (metrics.empty()) return;
    std::map<Nanoseconds, std::vector<const Event*>> ranges;  // by when it began: the same for all of its kernels
    for (const Event& event : rank.events)
      if (event.source == Source::cupti && rank.name(event) == kEvent) ranges[event.start].push_back(&event);
    for (const auto& [began, kernels] : ranges)
      for (const std::string& metric : metrics) add(rank, {began, metric}, kernels, summary);
  }

  void conclude(const Summary& all, const Inputs&, Conclusions& conclusions) const override {
    const Series* table = all.find(kTable);
    if (table == nullptr) return;
    std::map<std::pair<std::string, std::string>, std::vector<double>> samples;  // by metric and scope
    std::int64_t fewest = -1, most = 0;
    for (const auto& row : table->rows) {
      const std::string metric = metric_name(std::get<std::string>(row[2]));
      const double value = std::get<double>(row[3]);
      samples[{metric, "all"}].push_back(value);
      samples[{metric, "rank:" + std::to_string(std::get<std::int64_t>(row[0]))}].push_back(value);
      const std::int64_t kernels = std::get<std::int64_t>(row[4]);
      fewest = fewest < 0 ? kernels : std::min(fewest, kernels);
      most = std::max(most, kernels);
    }
    for (const auto& [of, sample] : samples)
      if (auto metric = spread_metric(of.first, of.second, sample, "cupti")) conclusions.metrics.add(*metric);
    if (fewest < 0) return;
    const std::string kernels =
        fewest == most ? std::to_string(most) : std::to_string(fewest) + " to " + std::to_string(most);
    conclusions.facts["counters.of"] =
        kernels +
        " kernels of the first bucket until its first collective, one after the other, in steps that count "
        "nowhere else";
  }

 private:
  struct Place {
    Nanoseconds began;
    std::string metric;
  };

  static void add(const RankTimeline& rank, const Place& place, const std::vector<const Event*>& events,
                  Summary& summary) {
    std::vector<Kernel> kernels;
    for (const Event* event : events)
      if (const auto value = rank.integer(*event, place.metric))
        kernels.push_back({static_cast<double>(*value) * kThousandths,
                           static_cast<double>(rank.integer(*event, kDuration).value_or(0)) * kThousandths});
    if (kernels.empty()) return;
    summary.table(kTable, {"rank", "began_ns", "metric", "value", "kernels"})
        .rows.push_back({std::int64_t{rank.rank}, std::int64_t{place.began}, place.metric, whole(place.metric, kernels),
                         static_cast<std::int64_t>(kernels.size())});
  }
};

}  // namespace

std::unique_ptr<Analyzer> make_gpu_counters() { return std::make_unique<GpuCountersAnalyzer>(); }

}  // namespace gradsync
