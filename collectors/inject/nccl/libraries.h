// Where a wrapped NCCL function really is. Several NCCLs may be in one process (torch's and cupy's), so the answer
// depends on who calls.
#pragma once

#include <stdint.h>

namespace gradsync::nccl {

enum class NcclFunction : uint8_t {
  all_reduce,
  all_gather,
  reduce_scatter,
  broadcast,
  bcast,
  reduce,
  all_to_all,
  gather,
  scatter,
  send,
  receive,
  init_rank,
  init_rank_config,
  init_rank_scalable,
  split,
  destroy,
  abort,
  group_start,
  group_end,
  count
};
const char* symbol_of(NcclFunction function);

// What the caller at `return_address` would have reached without us: the next one in the global scope; else the one in
// its own library's scope (NCCL was loaded RTLD_LOCAL); else one of the NCCLs that are mapped. Null when there is none.
// Found once for each place that calls. The library is kept loaded.
void* real_function(NcclFunction function, const void* return_address);

// NCCL's version number (22809 = 2.28.9) of the library that holds the code at `address`; 0 when it does not tell.
int version_of_nccl_at(const void* address);

}  // namespace gradsync::nccl
