// run --quality: what the optimiser received over a window, against the average of the true gradients (window cosine),
// by layer; behind environment and messages.
//
// The window must be long enough for the method: a memory of error feedback holds back what one selection leaves out.
// Of pure noise (the worst case) Top-K with density r keeps E² = s²/(6r), and the cosine over W passes is
// 1 - 1/(6 r W): with W r = 2, 0.917. So a window counts from W r = 2 on, and healthy is at least 0.9.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "analyzers/analyzers.h"
#include "analyzers/annealing.h"
#include "analyzers/quality_rows.h"
#include "analyzers/rows.h"
#include "src/base/statistics.h"
#include "src/timeline/rank_timeline.h"

namespace gradsync {
namespace {

constexpr const char* kSource = "run --quality";
constexpr std::string_view kSentTable = "hook_sent";
constexpr double kStarvedPasses = 100;  // from the article's corrected rule: never selected for more than 100 steps
constexpr double kFewestTurns = 2;      // W r
constexpr std::size_t kFewestWindows = 3;
constexpr double kLargeShare = 0.01;  // of the parameters: a layer whose norm is judged
constexpr std::int64_t kShortest = 32;
constexpr double kDenserAtEnd = 5;  // as in the advice of late-noise: 2 % becomes 10 %

std::string fact_of(const Facts& facts, const std::string& key) {
  const auto found = facts.find(key);
  return found == facts.end() ? std::string() : found->second;
}

std::int64_t passes(const QualityMark& mark) { return static_cast<std::int64_t>(mark.value("passes", 1).value_or(0)); }

// Of one rank: what all ranks received is the same, and the true average is.
std::vector<QualityMark> windows_of_first_rank(const Summary& all) {
  std::vector<QualityMark> windows = quality_marks(all, "quality.window");
  if (!windows.empty()) {
    const int first = windows.front().rank;
    std::erase_if(windows, [first](const QualityMark& mark) { return mark.rank != first; });
  }
  return windows;
}

class QualityAnalyzer final : public Analyzer {
 public:
  std::string_view name() const override { return "quality"; }

  void summarise(const RankTimeline& rank, const Inputs&, Summary& summary) const override {
    summarise_quality(rank, summary);
    std::int64_t bytes = 0;  // that this rank hands to collectives inside the hook
    for (const Event& event : rank.events)
      if (event.kind == Kind::collective && event.has(kFlagInHook) && rank.name(event) != "recv") bytes += event.bytes;
    if (bytes <= 0 || rank.steps.empty()) return;
    const auto steps = static_cast<std::int64_t>(rank.steps.size());  // fewer of a rank that ended early
    summary.table(kSentTable, {"rank", "bytes"})
        .rows.push_back({std::int64_t{rank.rank}, std::max<std::int64_t>(bytes / steps, 1)});
  }

  void conclude(const Summary& all, const Inputs& inputs, Conclusions& conclusions) const override {
    tell_coverage(inputs, conclusions);
    compare_ranks(all, conclusions);
    const std::vector<QualityMark> windows = windows_of_first_rank(all);
    if (windows.empty()) return;
    write_series(windows, conclusions);
    const double density = judge_whole(windows, conclusions);
    if (density > 0) judge_layers(windows, density, conclusions);
    judge_noise(windows, conclusions);
    write_annealing(100 * density, conclusions);
  }

 private:
  static void compare_ranks(const Summary& all, Conclusions& conclusions) {
    const Series* table = all.find(kSentTable);
    if (table == nullptr || table->rows.size() < 2) return;
    std::map<std::int64_t, double> sent;
    for (const auto& row : table->rows)
      sent[std::get<std::int64_t>(row[0])] += static_cast<double>(std::get<std::int64_t>(row[1]));
    double least = sent.begin()->second;
    for (const auto& [rank, bytes] : sent) least = std::min(least, bytes);
    for (const auto& [rank, bytes] : sent)
      add_value(conclusions.metrics, "compress.bytes_over_least", "rank:" + std::to_string(rank), bytes / least, 1,
                "torch_hook");
  }

  static void tell_coverage(const Inputs& inputs, Conclusions& conclusions) {
    const std::string state = fact_of(conclusions.facts, "quality.state");
    if (!inputs.facts.contains("option.quality") && state.empty()) return;
    if (state.empty())
      conclusions.coverage.push_back({"gradient quality", "", CoverageState::unavailable,
                                      "no rank with a communication hook was observed", "", 0});
    else if (const std::size_t off = state.find("off: "); off != std::string::npos)
      conclusions.coverage.push_back(
          {"gradient quality", "", CoverageState::partial, state.substr(off + 5), hint_for(state), 0});
    else if (state.starts_with("waiting"))
      conclusions.coverage.push_back({"gradient quality", "", CoverageState::unavailable,
                                      "the job ended before the first window",
                                      "train for longer: the first window ends after 68 steps", 0});
    else
      conclusions.coverage.push_back({"gradient quality", "", CoverageState::collected, "", "", 0});
  }

  static std::string hint_for(const std::string& state) {
    if (state.find("it cost") != std::string::npos) return "longer steps: a larger batch or model";
    if (state.find("no communication hook") != std::string::npos)
      return "quality is measured at model.register_comm_hook";
    return "";
  }

  // The longest windows of the whole gradient; returns the density of one rank's selection, 0: not known.
  static double judge_whole(const std::vector<QualityMark>& windows, Conclusions& conclusions) {
    std::int64_t longest = 0;
    for (const QualityMark& mark : windows)
      if (mark.group == "all" && mark.value("cosine_ppm", 1)) longest = std::max(longest, passes(mark));
    if (longest == 0) return 0;  // none was finite
    std::vector<double> cosines, ratios, memory, sent;
    for (const QualityMark& mark : windows) {
      if (mark.group != "all" || passes(mark) != longest) continue;
      if (const auto value = mark.value("cosine_ppm", 1e6)) cosines.push_back(*value);
      if (const auto value = mark.value("norm_ratio_ppm", 1e6)) ratios.push_back(*value);
      if (const auto value = mark.value("memory_cosine_ppm", 1e6)) memory.push_back(*value);
      if (const auto value = mark.value("sent_ppm", 1e6)) sent.push_back(*value);
    }
    const int ranks = std::max(1, std::atoi(fact_of(conclusions.facts, "world_size").c_str()));
    const double density = effective_density(density_of_one(median(sent).value_or(0), ranks), conclusions);
    MetricSet& metrics = conclusions.metrics;
    add_sample(metrics, "quality.window_cosine", "all", cosines, kSource);
    add_sample(metrics, "quality.norm_ratio", "all", ratios, kSource);
    add_sample(metrics, "quality.memory_cosine", "all", memory, kSource);
    const auto n = static_cast<std::int64_t>(sent.size());
    add_value(metrics, "quality.window_passes", "all", static_cast<double>(longest), n, kSource);
    if (!sent.empty()) {
      add_value(metrics, "quality.selected_percent", "all", 100 * density, n, kSource);
      add_value(metrics, "quality.window_turns", "all", density * static_cast<double>(longest), n, kSource);
    }
    return density;
  }

  // What is dense in the end may have travelled as less: of a low rank, say. Bits that are saved are no places.
  static double effective_density(double selected, const Conclusions& conclusions) {
    const std::string kind = fact_of(conclusions.facts, "hook.kind");
    if (!kind.ends_with("powersgd")) return selected;
    const auto wire = conclusions.metrics.value("compress.wire_ratio_percent", "all");
    return wire ? std::min(selected, *wire / 100) : selected;
  }

  static void judge_layers(const std::vector<QualityMark>& windows, double density, Conclusions& conclusions) {
    std::map<std::string, std::vector<const QualityMark*>> layers;
    double total = 0;
    for (const QualityMark& mark : windows)
      if (mark.group == "all")
        total = std::max(total, static_cast<double>(mark.bytes));
      else
        layers[mark.group].push_back(&mark);
    if (layers.empty()) return;
    const bool remembers = fact_of(conclusions.facts, "quality.memory").find("in ") != std::string::npos;
    const double expected = remembers ? 1 : std::sqrt(kept_energy(density));
    std::int64_t starved = 0, without_k = 0, long_enough = 0;
    std::string named;
    for (const auto& [layer, marks] : layers) {
      const QualityMark& last = **std::max_element(
          marks.begin(), marks.end(), [](const auto* a, const auto* b) { return passes(*a) < passes(*b); });
      const std::string scope = "layer:" + layer;
      if (const auto cosine = last.value("cosine_ppm", 1e6))
        add_value(conclusions.metrics, "quality.window_cosine", scope, *cosine, 1, kSource);
      add_norm(marks, scope, static_cast<double>(last.bytes) / std::max(total, 1.0), expected, density, conclusions);
      if (passes(last) <= kStarvedPasses || last.value("moved_ppm", 1e6).value_or(0) <= 0) continue;
      ++long_enough;
      if (last.value("sent_ppm", 1e6).value_or(1) > 0) continue;
      ++starved;
      if (static_cast<double>(last.bytes) * density < 1) ++without_k;
      if (starved <= 5) named += (named.empty() ? "" : ", ") + layer;
    }
    if (long_enough == 0) return;
    add_value(conclusions.metrics, "quality.starved_layers", "all", static_cast<double>(starved), long_enough, kSource);
    add_value(conclusions.metrics, "quality.layers_without_k", "all", static_cast<double>(without_k), long_enough,
              kSource);
    if (starved > 0) conclusions.facts["quality.starved"] = named + (starved > 5 ? ", …" : "");
  }

  // The largest of at least three windows, so that one short one says nothing.
  static void add_norm(const std::vector<const QualityMark*>& marks, const std::string& scope, double share,
                       double expected, double density, Conclusions& conclusions) {
    std::vector<double> ratios;
    for (const QualityMark* mark : marks)
      if (const auto ratio = mark->value("norm_ratio_ppm", 1e6)) ratios.push_back(*ratio);
    if (ratios.size() < kFewestWindows) return;
    const double best = *std::max_element(ratios.begin(), ratios.end());
    const auto n = static_cast<std::int64_t>(ratios.size());
    add_value(conclusions.metrics, "quality.norm_ratio", scope, best, n, kSource);
    const double turns = density * static_cast<double>(passes(*marks.back()));
    if (share > kLargeShare && expected > 0 && (expected < 1 || turns >= kFewestTurns))
      add_value(conclusions.metrics, "quality.norm_over_expected", scope, best / expected, n, kSource);
  }

  // Late noise: the error of what is received does not shrink with the gradient. Over windows of 32 passes.
  static void judge_noise(const std::vector<QualityMark>& windows, Conclusions& conclusions) {
    std::vector<double> relative, norm;
    for (const QualityMark& mark : windows) {
      if (mark.group != "all" || passes(mark) != kShortest) continue;
      const auto cosine = mark.value("cosine_ppm", 1e6), ratio = mark.value("norm_ratio_ppm", 1e6);
      const auto size = mark.value("norm_log2_milli", 1e3);
      if (!cosine || !ratio || !size) continue;
      relative.push_back(std::sqrt(std::max(0.0, *ratio * *ratio - 2 * *ratio * *cosine + 1)));
      norm.push_back(std::exp2(*size));
    }
    if (relative.size() < 10) return;
    const std::size_t tenth = std::max<std::size_t>(3, relative.size() / 10);
    const auto first = [&](const std::vector<double>& v) { return *median(std::span(v).first(tenth)); };
    const auto last = [&](const std::vector<double>& v) { return *median(std::span(v).last(tenth)); };
    const auto n = static_cast<std::int64_t>(relative.size());
    if (first(relative) <= 0 || first(norm) <= 0) return;
    add_value(conclusions.metrics, "quality.relative_error", "all", last(relative), n, kSource);
    add_value(conclusions.metrics, "quality.error_growth", "all", last(relative) / first(relative), n, kSource);
    add_value(conclusions.metrics, "quality.gradient_left_percent", "all", 100 * last(norm) / first(norm), n, kSource);
  }

  // What of this selection's density is left over the training by the quoted schedule, and one to five times as much at
  // the end, where an error that does not shrink with the gradient hurts most. Of selections alone.
  static void write_annealing(double percent, Conclusions& conclusions) {
    if (fact_of(conclusions.facts, "compression") != "topk" || percent <= 0) return;
    Series& series = conclusions.series["annealing"];
    series = {"annealing", {"progress_percent", "quoted_percent", "rising_percent"}, {}};
    const double end = std::min(100.0, kDenserAtEnd * percent);
    for (const int progress : {0, 25, 50, 75, 90, 100})
      series.rows.push_back({std::int64_t{progress}, quoted_density(percent, progress / 100.0),
                             annealed_density(percent, end, progress / 100.0, 1)});
  }

  static void write_series(const std::vector<QualityMark>& windows, Conclusions& conclusions) {
    Series& series = conclusions.series["quality_windows"];
    series = {"quality_windows",
              {"layer", "pass", "passes", "elements", "cosine", "norm_ratio", "sent_percent", "memory_cosine"},
              {}};
    const double none = std::nan("");
    for (const QualityMark& mark : windows)
      series.rows.push_back(
          {mark.group, mark.pass, passes(mark), mark.bytes, mark.value("cosine_ppm", 1e6).value_or(none),
           mark.value("norm_ratio_ppm", 1e6).value_or(none), mark.value("sent_ppm", 1e4).value_or(none),
           mark.value("memory_cosine_ppm", 1e6).value_or(none)});
  }
};

}  // namespace

std::unique_ptr<Analyzer> make_quality() { return std::make_unique<QualityAnalyzer>(); }

}  // namespace gradsync
