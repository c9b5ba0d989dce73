#include "analyzers/predict/draws.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "src/base/statistics.h"

namespace gradsync {
namespace {

constexpr double kModelError = 0.085;   // of a modelled transfer: 90 % within 14 %
constexpr double kRemovalError = 0.05;  // what is taken away is missed by at most this share
constexpr double kLeastHop = 1.5, kMostHop = 3;

// The distributions of <random> differ between libraries; its generator does not.
class Dice {
 public:
  double uniform() { return static_cast<double>(generator_() >> 11) * 0x1p-53; }
  double normal() { return std::sqrt(-2 * std::log(1 - uniform())) * std::cos(6.283185307179586 * uniform()); }
  // From 1 to `most`, most often 1.
  double slowdown(double most) { return 1 + (most - 1) * (1 - std::sqrt(1 - uniform())); }

 private:
  std::mt19937_64 generator_{20240917};
};

double most_ns(const StepGraph& graph, const Replayed& today) {
  return today.step_ns - graph.total(StepClass::compute);
}

// Overlap that is new slows computing down; overlap that is gone gives back.
double slowdown_ns(const Replayed& before, const Replayed& after, double gamma) {
  const double more = after.overlapped_ns - before.overlapped_ns;
  return more > 0 ? (gamma - 1) * more : (1 - 1 / gamma) * more;
}

struct Today {
  Replayed replayed;
  double cap_ns = 0;
};

// Of each rank, of each of its steps.
std::vector<std::vector<Today>> today_of(const Remedy& remedy, const std::vector<RankStep>& ranks) {
  std::vector<std::vector<Today>> all;
  for (const RankStep& rank : ranks) {
    std::vector<Today>& steps = all.emplace_back();
    for (const StepGraph& graph : rank.graphs) {
      Today today{replay(graph)};
      today.cap_ns = std::min(remedy.cap(graph, today.replayed), most_ns(graph, today.replayed));
      steps.push_back(today);
    }
  }
  return all;
}

double mean_cap_ms(const std::vector<std::vector<Today>>& ranks) {
  double sum = 0;
  for (const auto& steps : ranks)
    for (const Today& one : steps) sum += 1e-6 * one.cap_ns / static_cast<double>(steps.size() * ranks.size());
  return sum;
}

// What a rank saves under one draw; nothing where the remedy does not apply to most of its steps.
std::optional<double> saved_ns(const Remedy& remedy, const RankStep& rank, const std::vector<Today>& today,
                               const Draw& draw, double noise) {
  double sum = 0;
  std::size_t applies = 0;
  for (std::size_t i = 0; i < rank.graphs.size(); ++i) {
    const std::optional<StepGraph> edited = remedy.apply(rank.graphs[i], draw);
    if (!edited) continue;
    ++applies;
    const double before = today[i].replayed.step_ns;
    const Replayed after = replay(*edited);
    const double share = (before - after.step_ns) / before;
    const double ns =
        before - after.step_ns - slowdown_ns(today[i].replayed, after, draw.gamma) + noise * share * rank.spread_ns;
    sum += std::min(ns, today[i].cap_ns);
  }
  if (applies == 0 || 2 * applies < rank.graphs.size()) return std::nullopt;
  return sum / static_cast<double>(rank.graphs.size());
}

}  // namespace

Prediction predict(const Remedy& remedy, const std::vector<RankStep>& ranks, const Uncertainty& uncertainty) {
  const std::vector<std::vector<Today>> today = today_of(remedy, ranks);
  Dice dice;
  std::vector<double> saved;
  int positive = 0;
  for (int i = 0; i < kDraws; ++i) {
    Draw draw;
    draw.level = dice.uniform();
    draw.transfer = std::exp(kModelError * dice.normal());
    draw.contention = dice.slowdown(uncertainty.contention_most);
    draw.removed = 1 - kRemovalError * dice.uniform();
    draw.gamma = dice.slowdown(uncertainty.gamma_most);
    draw.hop_us = kLeastHop + (kMostHop - kLeastHop) * dice.uniform();
    const double noise = dice.normal();
    double sum = 0;
    std::size_t count = 0;
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      const std::optional<double> ns = saved_ns(remedy, ranks[r], today[r], draw, noise);
      if (!ns) continue;
      sum += *ns;
      ++count;
    }
    saved.push_back(count > 0 ? 1e-6 * sum / static_cast<double>(count) : 0);
    positive += saved.back() > 0;
  }
  return {quantile(saved, 0.05).value_or(0), quantile(saved, 0.5).value_or(0), quantile(saved, 0.95).value_or(0),
          static_cast<double>(positive) / kDraws, mean_cap_ms(today)};
}

double bound_ms(const Remedy& remedy, const std::vector<RankStep>& ranks) {
  const std::vector<std::vector<Today>> today = today_of(remedy, ranks);
  const Draw kind{0, std::exp(-1.645 * kModelError), 1, 1, 1, kLeastHop};
  double sum = 0;
  for (std::size_t r = 0; r < ranks.size(); ++r)
    for (std::size_t i = 0; i < ranks[r].graphs.size(); ++i) {
      const StepGraph& graph = ranks[r].graphs[i];
      const std::optional<StepGraph> edited = remedy.apply ? remedy.apply(graph, kind) : std::nullopt;
      const Today& now = today[r][i];
      const double ns = edited ? now.replayed.step_ns - replay(*edited).step_ns : now.cap_ns;
      sum += std::clamp(ns, 0.0, std::max(0.0, now.cap_ns)) / static_cast<double>(ranks[r].graphs.size());
    }
  return ranks.empty() ? 0 : 1e-6 * sum / static_cast<double>(ranks.size());
}

}  // namespace gradsync
