// The scheduler's best source that is allowed here: a trace of the machine, else switch records of the job's own threads.
#include "collectors/host/budget.h"
#include "collectors/host/host.h"
#include "collectors/host/switch_trace.h"

namespace gradsync {
namespace {

class SchedTiers final : public Collector {
 public:
  std::string name() const override { return trace_->name(); }

  std::vector<Coverage> probe(const CollectorContext& context) const override {
    std::vector<Coverage> found = trace_->probe(context);
    if (found.empty() || found.front().state != CoverageState::unavailable) return found;
    Coverage switches{"switch records",
                      "C",
                      CoverageState::collected,
                      "preemptions of the job's own threads, in place of the trace",
                      "",
                      0};
    if (const auto opened = SwitchTrace::open(context.root); !opened) {
      switches.state = CoverageState::unavailable;
      switches.reason = opened.error().message();
      switches.hint = opened.error().hint;
    }
    found.push_back(std::move(switches));
    return found;
  }

  // On the thread that starts the job: its descendants are recorded.
  Result<void> start(const CollectorContext& context, Environment& environment) override {
    Result<void> traced = trace_->start(context, environment);
    if (traced || budget_percent(context) <= 0) return traced;
    refused_ = traced.error();
    Result<std::unique_ptr<SwitchTrace>> opened = SwitchTrace::open(context.root);
    if (!opened) return traced;  // the first refusal is the one that a privilege would help
    switches_ = std::move(*opened);
    return switches_->start();
  }

  void stop(const CollectorContext& context, EventSink& events, RecordingParts& parts) override {
    if (!switches_) return trace_->stop(context, events, parts);
    switches_->stop();
    // That it was started said that all was well.
    std::erase_if(parts.coverage, [this](const Coverage& entry) { return entry.source == name(); });
    parts.coverage.push_back({name(), "B", CoverageState::unavailable, refused_.message(), refused_.hint, 0});
    add_switch_parts(*switches_, parts);
    write_switches(*switches_, events);
  }

 private:
  std::unique_ptr<Collector> trace_ = make_sched_trace();
  std::unique_ptr<SwitchTrace> switches_;
  Error refused_;
};

}  // namespace

std::unique_ptr<Collector> make_sched_tiers() { return std::make_unique<SchedTiers>(); }

}  // namespace gradsync
