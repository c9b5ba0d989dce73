// The callback slots of one client library, found defensively: the client may be older or newer than we are.
#pragma once

#include "collectors/inject/abi/nvtx_abi.h"

namespace gradsync::nvtx {

struct ModuleSlots {
  Callback** table;  // slot i is *table[i]
  uint32_t count;    // 0 = the client lacks the module
};

inline ModuleSlots slots_of(GetExportTable get, uint32_t module, uint32_t known) {
  const auto* callbacks = static_cast<const CallbacksTable*>(get(kTableCallbacks));
  Callback** table = nullptr;
  unsigned int count = 0;
  if (callbacks == nullptr || callbacks->struct_size < sizeof(CallbacksTable) ||
      callbacks->get_module_function_table(module, &table, &count) == 0 || table == nullptr) {
    return {nullptr, 0};
  }
  return {table, count < known ? count : known};
}

struct PayloadSlots {
  intptr_t* slots;
  uint32_t count;
};

inline PayloadSlots payload_slots_of(const ExtensionModule* module) {
  if (module->segment_count == 0 || module->segments == nullptr) return {nullptr, 0};
  const ExtensionSegment& first = module->segments[0];
  return {first.slots, first.slot_count < 2 ? static_cast<uint32_t>(first.slot_count) : 2};
}

}  // namespace gradsync::nvtx
