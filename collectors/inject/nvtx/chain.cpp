#include "collectors/inject/nvtx/chain.h"

#include <dlfcn.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/inject/nvtx/client_slots.h"
#include "collectors/inject/nvtx/entry_points.h"
#include "collectors/inject/side_map.h"
#include "src/spool_writer/old_glibc.h"

namespace gradsync::nvtx {

NextTool g_next;

namespace {

enum class Loading : uint32_t { not_yet, in_progress, done };

Loading g_loading;
InitializeInjection g_initialize;
InitializeExtension g_initialize_extension;
__thread bool t_inside_next;  // the next tool's own NVTX calls attach while it attaches

SideMap<16384> g_handles;
SideMap<4096> g_ranges;
constexpr uint64_t kOwnRange = uint64_t{1} << 63;  // tells an id of ours from one of theirs

void load() {
  const char* path = secure_getenv("GSD_NEXT_NVTX");
  if (path == nullptr || path[0] == 0) return;
  void* library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) return;
  auto* core = reinterpret_cast<InitializeInjection>(dlsym(library, "InitializeInjectionNvtx2"));
  if (core == nullptr || core == InitializeInjectionNvtx2) return;  // ourselves: the launcher was nested
  g_initialize = core;
  g_initialize_extension = reinterpret_cast<InitializeExtension>(dlsym(library, "InitializeInjectionNvtxExtension"));
  g_next.present = true;
}

// What the client's slots of one module hold now.
struct Snapshot {
  Callback before[32];
};

void take(const ModuleSlots& module, Snapshot& snapshot) {
  for (uint32_t i = 0; i < module.count; ++i)
    snapshot.before[i] = module.table[i] != nullptr ? *module.table[i] : nullptr;
}

void learn(const ModuleSlots& module, const Snapshot& snapshot, Callback* next) {
  for (uint32_t i = 0; i < module.count; ++i) {
    if (module.table[i] == nullptr || *module.table[i] == snapshot.before[i]) continue;
    spool::store_release(&next[i], *module.table[i]);
  }
}

}  // namespace

void load_next_tool() {
  constexpr int kMaxYields = 2'000'000;  // loading a profiler can take a second; the client would wait as long for it
  if (t_inside_next) return;
  for (int i = 0; i < kMaxYields && spool::load_acquire(&g_loading) != Loading::done; ++i) {
    if (spool::replace(&g_loading, Loading::not_yet, Loading::in_progress)) {
      t_inside_next = true;
      load();
      t_inside_next = false;
      spool::store_release(&g_loading, Loading::done);
    }
    sched_yield();
  }
}

int attach_next_tool(GetExportTable get) {
  if (!g_next.present || t_inside_next) return 0;
  const ModuleSlots core = slots_of(get, kModuleCore, CoreSlot::count);
  const ModuleSlots domain = slots_of(get, kModuleCore2, DomainSlot::count);
  Snapshot core_before, domain_before;
  take(core, core_before);
  take(domain, domain_before);
  t_inside_next = true;
  const int attached = g_initialize(get);
  t_inside_next = false;
  if (attached == 0) return 0;
  learn(core, core_before, g_next.core);
  learn(domain, domain_before, g_next.domain);
  return attached;
}

int attach_next_tool(ExtensionModule* module) {
  if (!g_next.present || t_inside_next || g_initialize_extension == nullptr) return 0;
  intptr_t before[2] = {};
  const PayloadSlots payload = payload_slots_of(module);
  for (uint32_t i = 0; i < payload.count; ++i) before[i] = payload.slots[i];
  t_inside_next = true;
  const int attached = g_initialize_extension(module);
  t_inside_next = false;
  if (attached == 0) return 0;
  for (uint32_t i = 0; i < payload.count; ++i) {
    if (payload.slots[i] != before[i]) spool::store_release(&g_next.payload[i], payload.slots[i]);
  }
  return attached;
}

uint64_t publish_handle(uint64_t theirs, uint64_t ours) {
  if (theirs == 0) return ours;
  g_handles.put(theirs, ours);
  return theirs;
}

uint64_t own_handle(uint64_t held_by_job) {
  if (!g_next.present) return held_by_job;
  const uint64_t ours = g_handles.get(held_by_job);
  return ours != 0 ? ours : held_by_job;
}

uint64_t next_handle(uint64_t held_by_job) { return g_handles.get(held_by_job) != 0 ? held_by_job : 0; }

uint64_t publish_range(uint64_t theirs, uint64_t ours) {
  if (theirs == 0) return g_next.present ? ours | kOwnRange : ours;
  if (ours != 0) g_ranges.put(theirs, ours);
  return theirs;
}

RangeIds end_range(uint64_t held_by_job) {
  if (!g_next.present) return {held_by_job, 0};
  if (const uint64_t ours = g_ranges.take(held_by_job)) return {ours, held_by_job};
  if ((held_by_job & kOwnRange) != 0) return {held_by_job & ~kOwnRange, 0};
  return {0, held_by_job};
}

ForwardedAttributes::ForwardedAttributes(const EventAttributes* attributes) : seen_(attributes) {
  if (attributes == nullptr || attributes->message_type != MessageType::registered) return;
  const auto handle = reinterpret_cast<uint64_t>(attributes->message.registered);
  if (handle == 0 || next_handle(handle) != 0) return;
  memcpy(&copy_, attributes, sizeof copy_);
  copy_.message_type = MessageType::none;
  copy_.message.registered = nullptr;
  seen_ = &copy_;
}

}  // namespace gradsync::nvtx
