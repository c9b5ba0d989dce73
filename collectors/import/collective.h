// The words of communication in traces → the words of docs/events.md. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gradsync {

// Name of a collective whose operation the trace does not tell (ncclDevKernel_Generic without arguments).
inline constexpr std::string_view kUnknownCollective = "collective";

// "allreduce", "_allgather_base", "nccl:all_to_allv", "ReduceScatter" → all_reduce, all_gather, all_to_all,
// reduce_scatter. NCCL runs send, recv and all_to_all in one kernel, SendRecv → send_recv. Otherwise empty.
std::string_view canonical_collective(std::string_view word);

// An annotation that spans a collective from issue to completion: "gloo:all_reduce", "mpi:…", "ucc:…". Empty: it is
// not. "nccl:…" on a CPU thread is the launch only; the collective is the kernel.
std::string_view collective_of_annotation(std::string_view name);

// Names by NCCL version; RCCL uses the same.
//   <= 2.7       ncclAllReduceRingLLKernel_sum_f32(…)
//   2.9 to 2.18  ncclKernel_AllReduce_RING_LL_Sum_float(…)
//   >= 2.19      ncclDevKernel_AllReduce_Sum_f32_RING_LL(…), ncclDevKernel_SendRecv, ncclDevKernel_Generic
//   2.27, 2.28   ncclSymDevKernel_…, ncclSymkDevKernel_… (symmetric memory)
//   one rank     …oneRankReduce…
// "void " may stand before it. The protocol in the name is not always the one that runs.
bool is_nccl_kernel(std::string_view name);

struct NcclKernelName {
  std::string_view operation;  // canonical; kUnknownCollective when the name does not tell
  std::string_view reduction;  // sum, prod, min, max, avg; empty = none or unknown
};
NcclKernelName parse_nccl_kernel(std::string_view name);

struct TensorType {
  std::string_view name;   // as PyTorch's Python prints it, without "torch.": float32, bfloat16, int64
  std::int64_t bytes = 0;  // 0 = unknown; name is then the text itself
};
// "Float", "c10::BFloat16", "long int", "Half", …
TensorType tensor_type(std::string_view text);

}  // namespace gradsync
