// Built in place of tier A where clang or libbpf was missing.
#include "collectors/host/trace_tier.h"

namespace gradsync {

std::optional<Error> probe_bpf_tier(const std::filesystem::path&) {
  return Error{"cannot use eBPF", "", "this program was built without it", ""};
}

Result<std::unique_ptr<TraceTier>> open_bpf_tier(const TierSetting& setting, const JobThreads&) {
  return *probe_bpf_tier(setting.root);
}

}  // namespace gradsync
