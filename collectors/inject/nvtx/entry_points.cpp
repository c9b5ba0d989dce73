#include "collectors/inject/nvtx/entry_points.h"

#include <errno.h>

#include "collectors/inject/nvtx/callbacks.h"
#include "collectors/inject/nvtx/chain.h"
#include "collectors/inject/nvtx/client_slots.h"
#include "src/spool_writer/atomics.h"
#include "src/spool_writer/process_state.h"

namespace gradsync::nvtx {
namespace {

void fill(GetExportTable get, uint32_t module, const Callback* ours, uint32_t known) {
  const ModuleSlots slots = slots_of(get, module, known);
  for (uint32_t i = 0; i < slots.count; ++i) {
    if (ours[i] != nullptr && slots.table[i] != nullptr) *slots.table[i] = ours[i];
  }
}

// Kept outside the spool too: attaching alone does not open it.
void count_attached_client() {
  spool::add_relaxed(&spool::g_nvtx_inits, uint64_t{1});
  spool::ProcessState* process = spool::g_process;
  if (process != nullptr && spool::load_acquire(&process->opening) == spool::Opening::done) {
    spool::add_relaxed(&process->header->nvtx_inits, uint64_t{1});
  }
}

int attach(GetExportTable get) {
  load_next_tool();
  const int next_attached = attach_next_tool(get);
  // Nothing to record in this process: leave the client to the next tool, or unattached at no cost.
  if (!gsd_enabled()) return next_attached;
  if (get(kTableCallbacks) == nullptr) return next_attached;
  prepare_events();
  fill(get, kModuleCore, core_callbacks(), CoreSlot::count);
  fill(get, kModuleCore2, domain_callbacks(), DomainSlot::count);
  count_attached_client();
  return 1;
}

int attach(ExtensionModule* module) {
  load_next_tool();
  const int next_attached = attach_next_tool(module);
  const bool ours = module->module_id == kPayloadModule &&
                    (module->compat_id == kPayloadCompat103 || module->compat_id == kPayloadCompat104);
  if (!ours || !gsd_enabled()) return next_attached;
  const PayloadSlots payload = payload_slots_of(module);
  for (uint32_t i = 0; i < payload.count; ++i) payload.slots[i] = payload_callbacks()[i];
  return 1;
}

}  // namespace
}  // namespace gradsync::nvtx

extern "C" {

int InitializeInjectionNvtx2(gradsync::nvtx::GetExportTable get) {
  if (get == nullptr) return 0;
  const int saved_errno = errno;
  const int attached = gradsync::nvtx::attach(get);
  errno = saved_errno;
  return attached;
}

int InitializeInjectionNvtxExtension(gradsync::nvtx::ExtensionModule* module) {
  if (module == nullptr) return 0;
  const int saved_errno = errno;
  const int attached = gradsync::nvtx::attach(module);
  errno = saved_errno;
  return attached;
}
}
