// The tool that was set before us: NVTX loads one library only, so we load the other one and pass everything on.
//
// It attaches to a client's slots first; what changed are its callbacks, and ours take their place and call them.
// Its handles are what the job gets (all modules that we leave alone then fit together); side maps keep our names.
#pragma once

#include "collectors/inject/abi/nvtx_abi.h"
#include "src/spool_writer/atomics.h"

namespace gradsync::nvtx {

struct NextTool {
  bool present;  // set before the first callback can run
  Callback core[CoreSlot::count];
  Callback domain[DomainSlot::count];
  intptr_t payload[2];  // slots of PayloadSlot
};

// One for all clients: a callback does not know which client calls it.
extern NextTool g_next;

// Loads GSD_NEXT_NVTX if it is set; once. A client that comes in while another thread loads waits for it.
void load_next_tool();

// Lets the next tool attach to a client: fills g_next from what it wrote into the client's slots. Returns what it
// returned, 0 without one.
int attach_next_tool(GetExportTable get);
int attach_next_tool(ExtensionModule* module);

// The next tool's callback, null when there is none.
template <typename Function>
inline Function* next_core(uint32_t slot) {
  return reinterpret_cast<Function*>(spool::load_relaxed(&g_next.core[slot]));
}
template <typename Function>
inline Function* next_domain(uint32_t slot) {
  return reinterpret_cast<Function*>(spool::load_relaxed(&g_next.domain[slot]));
}
template <typename Function>
inline Function* next_payload(uint32_t slot) {
  return reinterpret_cast<Function*>(spool::load_relaxed(&g_next.payload[slot]));
}

// Handles and range ids: the job holds `theirs` when the next tool gave one, else `ours`.
uint64_t publish_handle(uint64_t theirs, uint64_t ours);
uint64_t own_handle(uint64_t held_by_job);   // ours
uint64_t next_handle(uint64_t held_by_job);  // theirs; 0 when they never gave one
uint64_t publish_range(uint64_t theirs, uint64_t ours);
struct RangeIds {
  uint64_t ours;
  uint64_t theirs;
};
RangeIds end_range(uint64_t held_by_job);

// `attributes` as the next tool may see them: a string handle of ours is nothing that it could follow.
class ForwardedAttributes {
 public:
  explicit ForwardedAttributes(const EventAttributes* attributes);
  const EventAttributes* get() const { return seen_; }

 private:
  EventAttributes copy_;
  const EventAttributes* seen_;
};

}  // namespace gradsync::nvtx
