#include <strings.h>

#include "collectors/attach/attach.h"
#include "collectors/attach/nccl_attach.h"
#include "collectors/attach/nvidia_driver.h"
#include "src/base/environment.h"

namespace gradsync {
namespace {

constexpr const char* kVariable = "NCCL_PROFILER_PLUGIN";
constexpr const char* kDefault = "libnccl-profiler.so";  // what NCCL looks for when the variable is not set

std::string value_of(const Environment& environment, const char* name) {
  const auto found = environment.find(name);
  return found == environment.end() ? "" : found->second;
}

// What to do beside the plug-in that is there.
struct Neighbour {
  std::string chain_to;  // "" = nobody is there
  std::string yields;    // why ours stays away; "" = it does not
};

Neighbour neighbour(const CollectorContext& context, const Environment& environment) {
  const std::string value = value_of(environment, kVariable);
  if (value == context.library.string()) return {};
  if (::strcasecmp(value.c_str(), "none") == 0) return {"", "NCCL_PROFILER_PLUGIN=none forbids plug-ins"};
  const std::string theirs = value.empty() ? kDefault : value;
  const std::set<int> versions = plugin_versions(theirs);
  if (versions.empty()) return {};
  if (can_chain(versions)) return {theirs, ""};
  std::string spoken;
  for (const int version : versions) spoken += (spoken.empty() ? "v" : ", v") + std::to_string(version);
  return {"", "the profiler plug-in " + theirs + " speaks only " + spoken + " and NCCL loads one: it stays alone"};
}

class NcclPluginAttach final : public Collector {
 public:
  std::string name() const override { return "NCCL profiler plug-in"; }

  // NCCL ignores a plug-in that does not load: so the launcher tries it.
  std::vector<Coverage> probe(const CollectorContext& context) const override {
    Coverage coverage{name(), "", CoverageState::collected, "", "", 0};
    coverage.reason =
        "algorithm, protocol and channels of each collective (NCCL 2.23 and later); --nccl kernels adds device times "
        "(2.27 and later), --nccl proxy the network's operations";
    const std::string broken = why_broken(context);
    const Neighbour there = neighbour(context, own_environment());
    if (!broken.empty() || !there.yields.empty()) {
      coverage.state = CoverageState::unavailable;
      coverage.reason = broken.empty() ? there.yields : broken;
      coverage.hint = broken.empty() ? "unset NCCL_PROFILER_PLUGIN" : "install again with `make install`";
    } else if (!there.chain_to.empty()) {
      coverage.reason += ", beside " + there.chain_to;
    }
    note_missing_driver(coverage);
    return {coverage};
  }

  Result<void> start(const CollectorContext& context, Environment& environment) override {
    const Result<NcclWishes> wishes = nccl_wishes(context);
    if (!wishes) return wishes.error();
    if (wishes->off) return Error{"not asked for", "--nccl off", "", ""};
    if (const std::string broken = why_broken(context); !broken.empty())
      return Error{"cannot be NCCL's plug-in", context.library.string(), broken, "install again with `make install`"};
    const Neighbour there = neighbour(context, environment);
    if (!there.yields.empty()) return Error{"cannot be NCCL's plug-in", "", there.yields, "unset NCCL_PROFILER_PLUGIN"};
    if (!there.chain_to.empty()) environment["GSD_NEXT_NCCL_PROFILER"] = chained_to_ = there.chain_to;
    environment[kVariable] = context.library.string();
    std::string events;
    if (wishes->kernels) events = "kernels";
    if (wishes->proxy) events += events.empty() ? "proxy" : ",proxy";
    if (!events.empty()) environment["GSD_NCCL_EVENTS"] = events;
    return {};
  }

  void stop(const CollectorContext&, EventSink&, RecordingParts& parts) override {
    if (!chained_to_.empty()) parts.facts["nccl_plugin.chained_to"] = chained_to_;
  }

 private:
  static std::string why_broken(const CollectorContext& context) {
    return why_library_fails(context, "ncclProfiler_v6");
  }

  std::string chained_to_;
};

}  // namespace

std::unique_ptr<Collector> make_nccl_plugin_attach() { return std::make_unique<NcclPluginAttach>(); }

}  // namespace gradsync
