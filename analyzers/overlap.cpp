// What of communication and compression had no useful compute beside it.
#include <algorithm>
#include <functional>

#include "analyzers/analyzers.h"
#include "analyzers/message_sums.h"
#include "analyzers/rows.h"
#include "src/base/statistics.h"

namespace gradsync {
namespace {

class OverlapAnalyzer final : public Analyzer {
 public:
  std::string_view name() const override { return "overlap"; }

  // Everything needed is in the table of steps.
  void summarise(const RankTimeline&, const Inputs&, Summary&) const override {}

  void conclude(const Summary& all, const Inputs&, Conclusions& conclusions) const override {
    add_data(all, conclusions);
    if (!exchange_unseen(all, conclusions.facts)) add_shares(all, conclusions);
    add_compression(all, conclusions);
    add_overlap(all, conclusions);
  }

 private:
  static double exposed_ms(const StepRow& row) {
    return row.ms(StepColumn::comm) + row.ms(StepColumn::compress) + row.ms(StepColumn::decompress);
  }

  // Names ending in _ms get a twin in percent of the step.
  static void add_with_share(const Summary& all, Conclusions& conclusions, const std::string& stem,
                             const std::function<double(const StepRow&)>& ms) {
    add_per_step(conclusions, all, stem + "_ms", "steps", ms);
    add_per_step(conclusions, all, stem + "_percent", "steps",
                 [&ms](const StepRow& row) { return 100 * ms(row) / row.ms(StepColumn::time); });
  }

  static void add_data(const Summary& all, Conclusions& conclusions) {
    if (window_inflation_percent(all) <= kMostInflation)
      add_per_step(conclusions, all, "data.share_percent", "steps",
                   [](const StepRow& row) { return 100 * row.ms(StepColumn::data) / row.ms(StepColumn::time); });
  }

  static void add_shares(const Summary& all, Conclusions& conclusions) {
    add_with_share(all, conclusions, "sync.exposed", exposed_ms);
    // Peer wait is cut out: from the attribution, where it was split.
    for (const Attribution& attribution : conclusions.attribution) {
      const auto part = [&attribution](const char* name) {
        const auto found = attribution.parts_ms.find(name);
        return found == attribution.parts_ms.end() ? 0.0 : found->second;
      };
      const double step = conclusions.metrics.value("step.time_ms", attribution.scope).value_or(0);
      if (step <= 0) continue;
      if (const auto peers = attribution.parts_ms.find("comm_peer_wait"); peers != attribution.parts_ms.end())
        add_value(conclusions.metrics, "comm.peer_wait_percent", attribution.scope, 100 * peers->second / step,
                  conclusions.metrics.find("step.time_ms", attribution.scope)->n, "attribution");
      const double exposed = part("comm_startup") + part("comm_transfer") + part("comm_unsplit");
      const auto steps = static_cast<std::int64_t>(conclusions.metrics.find("step.time_ms", attribution.scope)->n);
      Metric own;
      own.name = "comm.exposed_ms";
      own.scope = attribution.scope;
      own.value = exposed;
      own.n = steps;
      own.source = "attribution";
      const char* largest = part("comm_transfer") > part("comm_unsplit") ? "transfer" : "unsplit";
      if (const Metric* whole =
              conclusions.metrics.find(std::string("attribution.comm_") + largest + "_ms", attribution.scope))
        own.resolution = whole->resolution;
      conclusions.metrics.add(own);
      own.name = "comm.exposed_percent";
      own.value = 100 * exposed / step;
      if (own.resolution) own.resolution = 100 * *own.resolution / step;
      conclusions.metrics.add(own);
    }
  }

  static void add_compression(const Summary& all, Conclusions& conclusions) {
    double total = 0, late = 0, serial = 0;
    for (const StepRow& row : counted_steps(all)) {
      total += row.ms(StepColumn::compressing);
      late += row.ms(StepColumn::compress_after_backward);
      serial += row.ms(StepColumn::compress) + row.ms(StepColumn::decompress);
    }
    if (total <= 0 || counted_steps(all).size() < kFewestSteps) return;
    add_per_step(conclusions, all, "compress.total_ms", "steps",
                 [](const StepRow& row) { return row.ms(StepColumn::compressing); });
    add_with_share(all, conclusions, "compress.serial",
                   [](const StepRow& row) { return row.ms(StepColumn::compress) + row.ms(StepColumn::decompress); });
    // Gaps follow the host's pace, which the profiler changes.
    const auto on_device = [](const StepRow& row) { return row[StepColumn::on_device] == kDevicePhases; };
    const std::vector<StepRow> rows = counted_steps(all);
    if (std::any_of(rows.begin(), rows.end(), on_device) && window_inflation_percent(all) <= kMostInflation)
      add_with_share(all, conclusions, "compress.span", [](const StepRow& row) {
        return row.ms(StepColumn::compress) + row.ms(StepColumn::decompress) + row.ms(StepColumn::compress_gaps);
      });
    add_with_share(all, conclusions, "decompress.serial",
                   [](const StepRow& row) { return row.ms(StepColumn::decompress); });
    const auto steps = static_cast<std::int64_t>(counted_steps(all).size());
    double compress_only = 0;
    for (const StepRow& row : counted_steps(all)) compress_only += row.ms(StepColumn::compress);
    if (compress_only > 0)
      add_value(conclusions.metrics, "compress.after_backward_percent", "all",
                std::min(100.0, 100 * late / compress_only), steps, "steps");
    const auto serial_ms = conclusions.metrics.value("compress.serial_ms", "all");
    const auto comm_ms = conclusions.metrics.value("comm.exposed_ms", "all");
    if (serial_ms && comm_ms && *comm_ms > 0)
      add_value(conclusions.metrics, "compress.serial_over_comm_percent", "all", 100 * *serial_ms / *comm_ms, steps,
                "steps");
  }

  // The framework's own collectives are seen in the deep window only: then its steps stand for the others.
  static void add_overlap(const Summary& all, Conclusions& conclusions) {
    std::vector<StepRow> rows = counted_steps(all);
    std::string source = "torch_hook";
    const auto communicates = [](const StepRow& row) { return row[StepColumn::communicating] > 0; };
    if (std::none_of(rows.begin(), rows.end(), communicates)) {
      rows = deep_steps(all);
      source = "deep window";
    }
    std::erase_if(rows, std::not_fn(communicates));
    add_per_step(conclusions, rows, "comm.overlap_percent", source, [](const StepRow& row) {
      return 100 * row.ms(StepColumn::communicating_beside_compute) / row.ms(StepColumn::communicating);
    });
    add_per_step(conclusions, rows, "comm.total_ms", source,
                 [](const StepRow& row) { return row.ms(StepColumn::communicating); });
  }
};

}  // namespace

std::unique_ptr<Analyzer> make_overlap() { return std::make_unique<OverlapAnalyzer>(); }

}  // namespace gradsync
