// What the sampler of user copies hands over: the series `usercopy`, facts, coverage, and events for the join.
#include <fmt/format.h>
#include <unistd.h>

#include "collectors/host/budget.h"
#include "collectors/host/copy_sampler.h"
#include "collectors/host/host.h"
#include "collectors/host/proc_sampler.h"

namespace gradsync {
namespace {

constexpr double kMostLost = 0.01;
constexpr const char* kSource = "user copies";

Coverage coverage_of(const CopySampler& sampler) {
  Coverage coverage{kSource, "B", CoverageState::collected, "", "", 0};
  coverage.lost = static_cast<std::int64_t>(sampler.lost()) + sampler.account().dropped();
  if (const std::optional<Error>& refused = sampler.refused()) {
    coverage.state = CoverageState::unavailable;
    coverage.reason = refused->message();
    coverage.hint = refused->hint;
    return coverage;
  }
  coverage.reason = fmt::format("{} at {} Hz for {:.1f} s: {} samples of the job", sampler.source(),
                                CopySampler::kHertz, sampler.seconds(), sampler.account().samples());
  if (sampler.windows().size() > 1) coverage.reason += fmt::format(", in {} windows", sampler.windows().size());
  if (sampler.throttled() > 0) {
    coverage.state = CoverageState::partial;
    coverage.reason += fmt::format("; the kernel held sampling back {} times", sampler.throttled());
  }
  const auto samples = static_cast<double>(sampler.account().samples());
  if (static_cast<double>(coverage.lost) > kMostLost * samples && coverage.lost > 0)
    coverage.state = CoverageState::partial;
  return coverage;
}

class CopyCollector final : public Collector {
 public:
  std::string name() const override { return kSource; }

  std::vector<Coverage> probe(const CollectorContext& context) const override {
    Coverage coverage{name(), "B", CoverageState::collected, "", "", 0};
    const Result<std::string> source = CopySampler::probe(context.root);
    if (source) {
      coverage.reason = "sampled by " + *source;
      return {coverage};
    }
    coverage.state = CoverageState::unavailable;
    coverage.reason = source.error().message();
    coverage.hint = source.error().hint;
    return {coverage};
  }

  Result<void> start(const CollectorContext& context, Environment&) override {
    CopyOptions options;
    options.root = context.root;
    options.ancestor = ::getpid();
    options.budget_percent = budget_percent(context);
    if (options.budget_percent <= 0) return Error{"cannot sample what copies", "", "--budget 0", ""};
    Result<std::unique_ptr<CopySampler>> opened = CopySampler::open(options);
    if (!opened) return opened.error();
    sampler_ = std::move(*opened);
    return sampler_->start();
  }

  void stop(const CollectorContext&, EventSink& events, RecordingParts& parts) override {
    sampler_->stop();
    add_copy_parts(*sampler_, parts);
    write_copies(*sampler_, events);
  }

 private:
  std::unique_ptr<CopySampler> sampler_;
};

}  // namespace

void add_copy_parts(const CopySampler& sampler, RecordingParts& parts) {
  Series series = sampler.refused() ? Series{} : sampler.account().series(machine_name(), sampler.source());
  if (!series.rows.empty()) parts.series["usercopy"] = std::move(series);
  parts.facts["usercopy.sampler_cpu_ms"] = fmt::format("{:.0f}", static_cast<double>(sampler.reader_cpu()) * 1e-6);
  std::erase_if(parts.coverage, [](const Coverage& entry) { return entry.source == kSource; });
  parts.coverage.push_back(coverage_of(sampler));
}

void write_copies(const CopySampler& sampler, EventSink& events) {
  if (sampler.refused()) return;
  constexpr Nanoseconds kPeriod = 1'000'000'000 / CopySampler::kHertz;
  Event event;
  event.kind = Kind::copy;
  event.source = Source::host;
  for (const CopySeen& seen : sampler.account().seen()) {
    const auto thread = sampler.account().threads().find({seen.pid, seen.tid});
    event.name = events.intern(thread->second.thread);
    event.group = events.intern(seen.by);
    event.sequence = static_cast<std::uint32_t>(seen.tid);
    event.bytes = seen.pid;
    event.start = seen.at - kPeriod;
    event.end = seen.at;
    events.event(event);
  }
  Event window;
  window.kind = Kind::window;
  window.source = Source::host;
  window.name = events.intern("copy_samples");
  for (const auto& [start, end] : sampler.windows()) {
    window.start = start;
    window.end = end;
    events.event(window);
  }
}

std::unique_ptr<Collector> make_copy_sampler() { return std::make_unique<CopyCollector>(); }

}  // namespace gradsync
