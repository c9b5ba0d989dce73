// One pass over the steps of a rank for all who ask what went on in them: each step is observed once, and attribution,
// messages and straggler take from it what their second halves need.
#include <algorithm>

#include "analyzers/analyzers.h"
#include "analyzers/device_copies.h"
#include "analyzers/host_copies.h"
#include "analyzers/host_waits.h"
#include "analyzers/message_sums.h"
#include "analyzers/predict/graph_rows.h"
#include "analyzers/ready_times.h"
#include "analyzers/step_rows.h"

namespace gradsync {
namespace {

// From the device's kernels, or on a CPU job from its phases. A GPU job whose kernels were not recorded cannot be
// attributed from the host's side, and a trace of bare operators does not tell what they were for.
bool can_attribute(const RankTimeline& rank) {
  const bool gpu = rank.fact("device") == "cuda";
  return std::any_of(rank.events.begin(), rank.events.end(), [gpu](const Event& event) {
    return event.kind == Kind::kernel ||
           (!gpu && event.kind == Kind::range && event.source != Source::profiler && event.phase != Phase::none);
  });
}

class StepPass final : public Analyzer {
 public:
  std::string_view name() const override { return "step_pass"; }

  void summarise(const RankTimeline& rank, const Inputs& inputs, Summary& summary) const override {
    const GradientPath path = find_gradient_path(rank, inputs);
    const bool attributes = can_attribute(rank);
    std::optional<StepRows> rows;
    if (attributes) rows.emplace(rank, inputs, summary);
    MessageSums messages(rank, path);
    ReadyTimes ready(rank, path, summary);
    HostWaits host(rank);
    HostCopies copies(rank);
    DeviceCopies device(rank);
    GraphRows graphs(rank, path);
    for (const StepSpan& step : rank.steps) {
      if (!attributes && !step.counted()) continue;
      StepActivity seen = observe(rank, step, path);
      if (attributes) {
        copies.add(step, seen);
        device.add(step, seen);
        host.take(step, seen);
      }
      const Activity claimed = claim(seen.activity, step.interval());
      if (rows) {
        rows->add(step, seen, claimed);
        graphs.take(step, seen, claimed);
      }
      if (!step.counted()) continue;
      messages.add(step, seen, claimed[StepClass::compute]);
      ready.add(step, seen);
    }
    messages.write(summary);
    host.write(summary);
    copies.write(summary);
    device.write(summary);
    graphs.write(summary);
  }

  void conclude(const Summary&, const Inputs&, Conclusions&) const override {}
};

}  // namespace

std::unique_ptr<Analyzer> make_step_pass() { return std::make_unique<StepPass>(); }

}  // namespace gradsync
