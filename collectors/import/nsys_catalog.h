// Who did something in an Nsight Systems export: its ranks, found before anything is imported. A rank is a process
// with kernels; one that drives several devices is one rank for each device.
//
//   globalTid   …ppppppp pppppppp pppppppp tttttttt tttttttt tttttttt     process (24 bits), thread (24 bits)
//   globalPid   …ppppppp pppppppp pppppppp 00000000 00000000 00000000
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "collectors/import/nsys_database.h"

namespace gradsync {

inline std::int64_t process_of(std::int64_t global_tid) { return global_tid & ~std::int64_t{0xffffff}; }

// Tables with one row for each thing that ran on a device, by what the row becomes.
inline constexpr std::string_view kKernelTable = "CUPTI_ACTIVITY_KIND_KERNEL";
inline constexpr std::string_view kGraphTable = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE";
inline constexpr std::string_view kCopyTable = "CUPTI_ACTIVITY_KIND_MEMCPY";
inline constexpr std::string_view kMemsetTable = "CUPTI_ACTIVITY_KIND_MEMSET";
inline constexpr std::string_view kRuntimeTable = "CUPTI_ACTIVITY_KIND_RUNTIME";
inline constexpr std::string_view kSyncTable = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION";
inline constexpr std::string_view kNvtxTable = "NVTX_EVENTS";

// Numbers of NVTX_EVENTS.eventType (table ENUM_NSYS_EVENT_TYPE; the same in all versions): ranges of NVTX and of NVTX
// text files, push/pop and start/end.
inline bool is_nvtx_range(std::int64_t event_type) {
  return event_type == 59 || event_type == 60 || event_type == 70 || event_type == 71;
}
inline constexpr std::int64_t kNvtxCategory = 33, kNvtxMark = 34, kNvtxDomain = 75;

struct NsysRank {
  std::optional<std::int64_t> process;  // globalPid; nothing: the export does not tell, so everything is this one's
  std::optional<std::int64_t> device;   // nothing: no kernels in the export
  std::int64_t kernels = 0;
  bool shares_process = false;  // with a rank of another device
  // Of a process with several devices: threads that launch on devices, but not on this one.
  std::set<std::int64_t> other_threads;

  bool owns_thread(std::int64_t global_tid) const {
    return (!process || *process == process_of(global_tid)) && !other_threads.contains(global_tid);
  }
};

struct NsysCatalog {
  std::vector<NsysRank> ranks;
  std::size_t ranks_left_out = 0;  // beyond the bound; those with the fewest kernels
  bool has_kernels = false;        // else the ranks are the processes with NVTX ranges
  bool one_process = true;         // rows that do not tell theirs are its
};

NsysCatalog find_ranks(const NsysDatabase& database);

}  // namespace gradsync
