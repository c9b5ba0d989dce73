// What watching cost, of the observed time: the nanoseconds that our own callbacks timed themselves (per rank), and for
// the whole run the costliest rank plus the CPU of the doctor's own threads, spread over the machine's CPUs.
#include <algorithm>
#include <cstdlib>

#include "analyzers/analyzers.h"
#include "analyzers/rows.h"
#include "src/timeline/rank_timeline.h"

namespace gradsync {
namespace {

class ObserverAnalyzer final : public Analyzer {
 public:
  std::string_view name() const override { return "observer"; }

  void summarise(const RankTimeline& rank, const Inputs&, Summary& summary) const override {
    if (rank.clock_residual_us)
      summary.table("clock", {"rank", "residual_us"})
          .rows.push_back({std::int64_t{rank.rank}, *rank.clock_residual_us});
    const Nanoseconds observed = rank.last_time() - rank.first_time();
    if (rank.process.self_ns == 0 || observed <= 0) return;
    summary.table("observer", {"rank", "self_ns", "observed_ns"})
        .rows.push_back({std::int64_t{rank.rank}, static_cast<std::int64_t>(rank.process.self_ns), observed});
  }

  void conclude(const Summary& all, const Inputs& inputs, Conclusions& conclusions) const override {
    if (const Series* table = all.find("observer")) {
      double worst = 0;
      for (const auto& row : table->rows) {
        const double percent = 100.0 * static_cast<double>(std::get<std::int64_t>(row[1])) /
                               static_cast<double>(std::get<std::int64_t>(row[2]));
        worst = std::max(worst, percent);
        add_value(conclusions.metrics, "observer.cost_percent",
                  "rank:" + std::to_string(std::get<std::int64_t>(row[0])), percent, 1, "self-timed");
      }
      add_value(conclusions.metrics, "observer.cost_percent", "all", worst + doctor_percent(inputs),
                static_cast<std::int64_t>(table->rows.size()), "self-timed");
    }
    if (const Series* table = all.find("clock")) {
      double worst = 0;
      for (const auto& row : table->rows) {
        const double residual = std::get<double>(row[1]);
        worst = std::max(worst, residual);
        add_value(conclusions.metrics, "clock.residual_us", "rank:" + std::to_string(std::get<std::int64_t>(row[0])),
                  residual, 1, "clock pairs");
      }
      add_value(conclusions.metrics, "clock.residual_us", "all", worst, static_cast<std::int64_t>(table->rows.size()),
                "clock pairs");
    }
  }

 private:
  static double doctor_percent(const Inputs& inputs) {
    const auto told = inputs.facts.find("doctor.cpu_ms");
    if (told == inputs.facts.end() || inputs.run.seconds <= 0 || inputs.run.cpus <= 0) return 0;
    return 100 * std::strtod(told->second.c_str(), nullptr) * 1e-3 / (inputs.run.seconds * inputs.run.cpus);
  }
};

}  // namespace

std::unique_ptr<Analyzer> make_observer() { return std::make_unique<ObserverAnalyzer>(); }

}  // namespace gradsync
