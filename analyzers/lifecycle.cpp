// A gradient's life: ready during backward, compressed, sent, reconstructed. Here: how late it leaves.
#include "analyzers/analyzers.h"
#include "analyzers/rows.h"

namespace gradsync {
namespace {

class LifecycleAnalyzer final : public Analyzer {
 public:
  std::string_view name() const override { return "lifecycle"; }

  void summarise(const RankTimeline&, const Inputs&, Summary&) const override {}

  void conclude(const Summary& all, const Inputs&, Conclusions& conclusions) const override {
    add_per_step(conclusions, all, "lifecycle.first_send_ms", "torch_hook",
                 [](const StepRow& row) -> std::optional<double> {
                   if (row[StepColumn::first_send] < 0) return std::nullopt;
                   return row.ms(StepColumn::first_send);
                 });
    add_per_step(conclusions, all, "lifecycle.sent_after_backward_percent", "torch_hook",
                 [](const StepRow& row) -> std::optional<double> {
                   const std::int64_t bytes = row[StepColumn::sent_bytes];
                   if (bytes == 0) return std::nullopt;
                   return 100.0 * static_cast<double>(row[StepColumn::sent_after_backward_bytes]) /
                          static_cast<double>(bytes);
                 });
  }
};

}  // namespace

std::unique_ptr<Analyzer> make_lifecycle() { return std::make_unique<LifecycleAnalyzer>(); }

}  // namespace gradsync
