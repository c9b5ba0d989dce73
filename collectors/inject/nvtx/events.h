// NVTX events become records here; the callbacks only say what was called.
#pragma once

#include <stdint.h>

#include "collectors/inject/abi/nvtx_abi.h"
#include "collectors/inject/nvtx/shape.h"

namespace gradsync::nvtx {

class ThreadRanges;

// An event of the default domain that is only a name. Returns its reference, 0 when dropped.
uint64_t write_named(ThreadRanges& thread, const char* name, Shape shape);
uint64_t write_named(ThreadRanges& thread, const wchar_t* name, Shape shape);

// An event with attributes, of any domain (an index of domains.h).
uint64_t write_described(ThreadRanges& thread, uint32_t domain, const EventAttributes* attributes, Shape shape);

}  // namespace gradsync::nvtx
