#include "collectors/attach/attach.h"
#include "collectors/attach/nccl_attach.h"
#include "collectors/attach/nvidia_driver.h"
#include "src/base/environment.h"

namespace gradsync {
namespace {

constexpr const char* kVariable = "LD_PRELOAD";

// LD_PRELOAD reaches every program of the job, and the loader complains on stderr of each that it cannot serve (one of
// 32 bits): it is set only where NCCL's ranges tell too little.
class NcclCallsAttach final : public Collector {
 public:
  std::string name() const override { return "NCCL calls"; }

  std::vector<Coverage> probe(const CollectorContext& context) const override {
    Coverage coverage{name(), "", CoverageState::collected, "", "", 0};
    const std::string broken = why_not_preloadable(context);
    const std::string needed = why_ranges_lack_sizes(context, own_environment());
    if (needed.empty()) {
      coverage.reason = "by NCCL's NVTX ranges (sizes from 2.16 on); --nccl calls preloads wrappers for older ones";
    } else if (broken.empty()) {
      coverage.reason = "by preloaded wrappers: " + needed;
    } else {
      coverage.state = CoverageState::partial;
      coverage.reason = "without sizes: " + needed + "; " + broken;
      coverage.hint = "install again with `make install`";
    }
    note_missing_driver(coverage);
    return {coverage};
  }

  Result<void> start(const CollectorContext& context, Environment& environment) override {
    const Result<NcclWishes> wishes = nccl_wishes(context);
    if (!wishes) return wishes.error();
    if (wishes->off) return {};
    why_ = wishes->times   ? "--nccl times"
           : wishes->calls ? "--nccl calls"
                           : why_ranges_lack_sizes(context, environment);
    if (why_.empty()) return {};
    if (const std::string broken = why_not_preloadable(context); !broken.empty())
      return Error{"cannot preload", context.library.string(), broken, "install again with `make install`"};
    const std::string before = environment[kVariable];
    environment[kVariable] = context.library.string() + (before.empty() ? "" : ":" + before);
    std::string& events = environment["GSD_NCCL_EVENTS"];  // the plug-in's are in it
    if (wishes->times) events += events.empty() ? "times" : ",times";
    if (events.empty()) environment.erase("GSD_NCCL_EVENTS");
    return {};
  }

  void stop(const CollectorContext&, EventSink&, RecordingParts& parts) override {
    if (!why_.empty()) parts.facts["nccl_wrappers"] = "preloaded: " + why_;
  }

 private:
  // A library that does not load would be complained of by every program of the job.
  static std::string why_not_preloadable(const CollectorContext& context) {
    if (context.library.string().find_first_of(" :") != std::string::npos)
      return "a blank or a colon in its path cannot be written in LD_PRELOAD";
    return why_library_fails(context, "ncclAllReduce");
  }

  std::string why_;  // empty = not needed
};

}  // namespace

std::unique_ptr<Collector> make_nccl_calls_attach() { return std::make_unique<NcclCallsAttach>(); }

}  // namespace gradsync
