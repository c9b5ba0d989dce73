// The callbacks that we put into a client's slots; null = leave the slot alone.
#pragma once

#include "collectors/inject/abi/nvtx_abi.h"

namespace gradsync::nvtx {

const Callback* core_callbacks();     // CoreSlot::count
const Callback* domain_callbacks();   // DomainSlot::count
const intptr_t* payload_callbacks();  // PayloadSlot: two

// Interns the attribute keys; before the first callback, any number of times.
void prepare_events();

}  // namespace gradsync::nvtx
