// run --quality: what single passes of each rank showed: range of the numbers, what the hook keeps back, whether the
// ranks still train one model, memory, and how long the store of the job takes to answer.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "analyzers/analyzers.h"
#include "analyzers/quality_rows.h"
#include "analyzers/rows.h"
#include "src/base/statistics.h"

namespace gradsync {
namespace {

constexpr const char* kSource = "run --quality";
constexpr double kLargestHalf = 65504;  // of IEEE half precision
constexpr double kNoMemory = 10;        // times the gradient: nobody's memory is allowed more, whatever it selects
constexpr std::size_t kFewestPasses = 8;

std::string rank_scope(int rank) { return "rank:" + std::to_string(rank); }

class QualityPassesAnalyzer final : public Analyzer {
 public:
  std::string_view name() const override { return "quality_passes"; }
  void summarise(const RankTimeline&, const Inputs&, Summary&) const override {}  // quality does

  void conclude(const Summary& all, const Inputs&, Conclusions& conclusions) const override {
    judge_range(quality_marks(all, "quality.range"), conclusions);
    judge_hook(quality_marks(all, "quality.hook"), conclusions);
    judge_replicas(quality_marks(all, "quality.replica"), conclusions);
    judge_memory(quality_marks(all, "quality.memory"), conclusions);
    judge_cost(quality_marks(all, "quality.cost"), conclusions);
    judge_rtt(quality_marks(all, "quality.rtt"), conclusions);
  }

 private:
  static void judge_range(const std::vector<QualityMark>& marks, Conclusions& conclusions) {
    if (marks.empty()) return;
    std::set<std::int64_t> raw, received;
    std::vector<double> tiny, subnormal, largest;
    for (const QualityMark& mark : marks) {
      if (mark.value("raw_nonfinite", 1).value_or(0) > 0) raw.insert(mark.pass);
      if (mark.value("received_nonfinite", 1).value_or(0) > 0) received.insert(mark.pass);
      if (const auto value = mark.value("tiny_ppm", 1e4)) tiny.push_back(*value);
      if (const auto value = mark.value("subnormal_ppm", 1e4)) subnormal.push_back(*value);
      if (const auto value = mark.value("largest_log2_milli", 1e3)) largest.push_back(std::exp2(*value));
    }
    MetricSet& metrics = conclusions.metrics;
    const auto n = static_cast<std::int64_t>(marks.size());
    add_value(metrics, "quality.nonfinite_count", "all", static_cast<double>(received.size()), n, kSource);
    add_value(metrics, "quality.nonfinite_gradients", "all", static_cast<double>(raw.size()), n, kSource);
    add_sample(metrics, "quality.underflow_percent", "all", tiny, kSource);
    add_sample(metrics, "quality.subnormal_percent", "all", subnormal, kSource);
    const int ranks = std::max(1, std::atoi(conclusions.facts["world_size"].c_str()));
    if (!largest.empty())
      add_value(metrics, "quality.half_range_used_percent", "all",
                100 * *std::max_element(largest.begin(), largest.end()) * ranks / kLargestHalf, n, kSource);
    if (received.empty()) return;
    const bool before = !raw.empty() && *raw.begin() <= *received.begin();
    conclusions.facts["quality.nonfinite"] =
        fmt::format("{} in pass {}", before ? "the gradients themselves" : "what came back, of finite gradients",
                    *received.begin());
    conclusions.facts["quality.nonfinite_from"] = before ? "gradients" : "exchange";
  }

  // Cosine between p = gradient + memory and what was sent of it: an identity of the method, no judgement of training.
  static void judge_hook(const std::vector<QualityMark>& marks, Conclusions& conclusions) {
    std::vector<double> off, cosines;
    std::map<int, std::vector<double>> residuals;
    Series series{"quality_hook", {"rank", "pass", "cosine", "expected_cosine", "residual_ratio"}, {}};
    for (const QualityMark& mark : marks) {
      const auto cosine = mark.value("cosine_ppm", 1e6), expected = mark.value("expected_ppm", 1e6);
      const auto residual = mark.value("residual_milli", 1e3);
      if (!cosine || !expected || !residual) continue;
      off.push_back(std::abs(*cosine - *expected));
      cosines.push_back(*cosine);
      residuals[mark.rank].push_back(*residual);
      series.rows.push_back({std::int64_t{mark.rank}, mark.pass, *cosine, *expected, *residual});
    }
    if (series.rows.empty()) return;
    add_sample(conclusions.metrics, "quality.hook_selfcheck", "all", off, kSource);
    add_sample(conclusions.metrics, "quality.step_cosine", "all", cosines, kSource);
    add_residual(residuals, conclusions);
    conclusions.series["quality_hook"] = std::move(series);
  }

  // Of the rank that keeps most: the last quarter, and how it grew since the second (the first fills the memory).
  static void add_residual(const std::map<int, std::vector<double>>& residuals, Conclusions& conclusions) {
    double worst = -1, growth = 0;
    std::size_t n = 0;
    for (const auto& [rank, values] : residuals) {
      if (values.size() < kFewestPasses) continue;
      const std::size_t quarter = values.size() / 4;
      const std::span<const double> all(values);
      const double late = *median(all.last(quarter)), early = *median(all.subspan(quarter, quarter));
      if (late <= worst) continue;
      worst = late;
      growth = early > 0 ? late / early : 0;
      n = values.size();
    }
    if (worst < 0) return;
    const auto count = static_cast<std::int64_t>(n);
    add_value(conclusions.metrics, "quality.residual_ratio", "all", worst, count, kSource);
    if (growth > 0) add_value(conclusions.metrics, "quality.residual_growth", "all", growth, count, kSource);
    const auto selected = conclusions.metrics.value("quality.selected_percent", "all");
    if (!selected || *selected <= 0) return;
    add_value(conclusions.metrics, "quality.residual_over_limit", "all", worst / std::max(kNoMemory, 100 / *selected),
              count, kSource);
  }

  static void judge_replicas(const std::vector<QualityMark>& marks, Conclusions& conclusions) {
    double worst = -1;
    for (const QualityMark& mark : marks)
      if (const auto difference = mark.value("difference_ppb", 1e9); difference && *difference > worst) {
        worst = *difference;
        conclusions.facts["quality.most_different"] = fmt::format("rank {} in pass {}", mark.rank, mark.pass);
      }
    if (worst >= 0)
      add_value(conclusions.metrics, "quality.replica_difference_percent", "all", 100 * worst,
                static_cast<std::int64_t>(marks.size()), kSource);
  }

  static void judge_memory(const std::vector<QualityMark>& marks, Conclusions& conclusions) {
    double peak = -1, gradient = 0, bound = 0;
    std::int64_t n = 0;
    for (const QualityMark& mark : marks) {
      gradient = std::max(gradient, mark.value("gradient_bytes", 1).value_or(0));
      const auto bytes = static_cast<double>(mark.bytes);
      if (mark.value("moved", 1).value_or(0) > 0) {
        peak = std::max(peak, bytes);
        ++n;
      } else {
        bound = std::max(bound, bytes);
      }
    }
    if (marks.empty()) return;
    if (peak < 0) {
      conclusions.facts["memory.compress_peak"] =
          fmt::format("below that of the rest of the step: at most {:.1f} MB", bound * 1e-6);
      return;
    }
    conclusions.facts["memory.compress_peak"] = "sets the peak of the process";
    add_value(conclusions.metrics, "memory.compress_peak_bytes", "all", peak, n, kSource);
    if (gradient <= 0) return;
    add_value(conclusions.metrics, "memory.compress_peak_percent", "all", 100 * peak / gradient, n, kSource);
    add_prediction(gradient, conclusions);
  }

  // |p| 4n, values and 64-bit indices of K sorted (12 K, and as much for the sort), memory 4n, dense result 4n, and the
  // payloads of all ranks.
  static void add_prediction(double gradient, Conclusions& conclusions) {
    const auto selected = conclusions.metrics.value("quality.selected_percent", "all");
    const auto compression = conclusions.facts.find("compression");
    if (!selected || compression == conclusions.facts.end() || compression->second != "topk") return;
    const double ranks = std::max(1, std::atoi(conclusions.facts["world_size"].c_str()));
    const double payload = gradient / 4 * *selected / 100 * 12;
    const bool remembers = conclusions.facts["quality.memory"].find("in ") != std::string::npos;
    const double total = gradient + 2 * payload + (remembers ? gradient : 0) + gradient + ranks * payload;
    add_value(conclusions.metrics, "memory.compress_predicted_bytes", "all", total, 1, "closed form");
    conclusions.facts["memory.compress_parts"] = fmt::format(
        "magnitudes {:.1f} MB, selection {:.1f} MB, {}dense result {:.1f} MB, payloads of {:.0f} ranks {:.1f} MB",
        gradient * 1e-6, 2 * payload * 1e-6,
        remembers ? fmt::format("memory of error feedback {:.1f} MB, ", gradient * 1e-6) : std::string(),
        gradient * 1e-6, ranks, ranks * payload * 1e-6);
  }

  // The last mark of a rank holds all before it.
  static void judge_cost(const std::vector<QualityMark>& marks, Conclusions& conclusions) {
    std::map<int, double> costs;
    for (const QualityMark& mark : marks)
      if (const double took = mark.value("took_ns", 1).value_or(0); took > 0)
        costs[mark.rank] = 100 * mark.value("spent_ns", 1).value_or(0) / took;
    double worst = -1;
    for (const auto& [rank, cost] : costs) worst = std::max(worst, cost);
    if (worst >= 0)
      add_value(conclusions.metrics, "quality.cost_percent", "all", worst, static_cast<std::int64_t>(marks.size()),
                "self-timed");
  }

  // The shortest answer: what waits for a CPU on either side is longer, a far store never is shorter.
  static void judge_rtt(const std::vector<QualityMark>& marks, Conclusions& conclusions) {
    std::map<int, std::pair<double, std::int64_t>> shortest;
    double best = 0;
    for (const QualityMark& mark : marks) {
      const auto value = mark.value("min_ns", 1e6);
      if (!value || *value <= 0) continue;
      auto& [ms, count] = shortest[mark.rank];
      ms = count == 0 ? *value : std::min(ms, *value);
      count += mark.bytes;
      best = best > 0 ? std::min(best, *value) : *value;
    }
    for (const auto& [rank, answer] : shortest) {
      add_value(conclusions.metrics, "store.rtt_ms", rank_scope(rank), answer.first, answer.second, kSource);
      if (shortest.size() > 1)
        add_value(conclusions.metrics, "store.rtt_over_best", rank_scope(rank), answer.first / best, answer.second,
                  kSource);
    }
  }
};

}  // namespace

std::unique_ptr<Analyzer> make_quality_passes() { return std::make_unique<QualityPassesAnalyzer>(); }

}  // namespace gradsync
