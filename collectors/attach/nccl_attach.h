// What the two collectors of NCCL share: the user's wish, and what is known of a profiler plug-in that is set already.
#pragma once

#include <set>
#include <string>

#include "src/model/collector.h"

namespace gradsync {

// --nccl: `auto`, `off`, or a comma list of `calls`, `times`, `kernels`, `proxy`.
struct NcclWishes {
  bool off = false;
  bool calls = false;    // wrappers, whether needed or not
  bool times = false;    // CUDA events around them; needs the wrappers
  bool kernels = false;  // the plug-in's events of kernel channels
  bool proxy = false;    // and of the proxy thread
};
Result<NcclWishes> nccl_wishes(const std::string& option);
Result<NcclWishes> nccl_wishes(const CollectorContext& context);

// Why the injected library cannot serve: it does not load, or has no `symbol`; "" when it can.
std::string why_library_fails(const CollectorContext& context, const char* symbol);

// Versions of the interface that the plug-in behind a value of NCCL_PROFILER_PLUGIN exports; none when it does not load.
// It is loaded in a child process: it is somebody else's code.
std::set<int> plugin_versions(const std::string& value);

// NCCL takes the newest version that it and the plug-in know, and ours knows 1 to 6. True when, whatever this NCCL knows,
// the other plug-in then still has the version that is spoken (or an older one from 4 on where 5 or 6 is).
bool can_chain(const std::set<int>& versions);

// Why NCCL's own NVTX ranges would not tell the sizes of this job's messages; "" when they do, as far as one can tell
// without running it.
std::string why_ranges_lack_sizes(const CollectorContext& context, const Environment& environment);

}  // namespace gradsync
