#include "collectors/inject/nccl/denied.h"

#include "collectors/inject/abi/nccl_profiler_abi.h"

namespace gradsync::nccl {
namespace {

struct Entry {
  int first, last;  // versions
  Denied denied;
};

// Issues and pull requests of github.com/NVIDIA/nccl.
constexpr Entry kEntries[] = {
    {23003, 23003, {~uint64_t{0}, "NCCL 2.30.3 can crash with a profiler plug-in (nccl issue 2112)"}},
    {23102, 23102, {EventType::kernel_channel, "kernel events are slow in NCCL 2.31.2 (nccl issue 2355)"}},
    {22400, 22699, {EventType::proxy_step, "NCCL 2.24 to 2.26 leaves proxy steps open (nccl pull request 1682)"}},
};

}  // namespace

Denied denied_events(int version) {
  for (const Entry& entry : kEntries) {
    if (version >= entry.first && version <= entry.last) return entry.denied;
  }
  return {0, nullptr};
}

}  // namespace gradsync::nccl
