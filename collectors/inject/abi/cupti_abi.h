// What we use of CUPTI's activity interface, so that nothing of it is needed to build. Held against the vendor's headers
// by tests/unit/inject/cupti_abi_test.cpp where there are any.
//
// Records only ever grow at their end: each struct here is the oldest form that has the fields (CUDA 11), and fits the
// beginning of what any later library writes. How long a record is, only the loaded library knows: its own
// cuptiActivityGetNextRecord steps from one to the next.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace gradsync::cupti {

using Status = int32_t;  // CUptiResult
struct Statuses {
  enum : Status {
    success = 0,
    invalid_parameter = 1,
    out_of_memory = 8,
    not_initialized = 15,
    invalid_metric_name = 17,
    hardware_busy = 26,
    not_supported = 27,
    virtual_device = 33,
    insufficient_privileges = 35,
    old_profiler = 36,
    several_subscribers = 39,
    virtual_device_privileges = 40,
    confidential = 41,
    mig_device = 43,
    wsl_device = 45,
    invalid_chip_name = 46,
  };
};

// CUPTI_API_VERSION: 17 = CUDA 11.6 and 11.7, 18 = 11.8, 19 = 12.0, 23 = 12.5, 28 = 12.9 U1, then CUDA's own number.
constexpr uint32_t kOldestVersion = 17;
constexpr uint32_t kVersionCuda13 = 130000;
constexpr uint32_t kNewestKnownVersion = 139999;

enum class ActivityKind : uint32_t {
  invalid = 0,
  memcpy = 1,
  memset = 2,
  driver = 4,
  runtime = 5,
  concurrent_kernel = 10,
  overhead = 17,
  memcpy_peer = 22,
  synchronization = 38,
  graph_trace = 51,
};

enum class ThreadIdType : uint32_t { posix = 0, system = 1 };
constexpr uint32_t kFlushForced = 1;

#define GSD_CUPTI_RECORD __attribute__((packed, aligned(8)))

struct GSD_CUPTI_RECORD ActivityRecord {
  ActivityKind kind;
};

struct GSD_CUPTI_RECORD KernelRecord {  // CUpti_ActivityKernel4
  ActivityKind kind;
  uint8_t cache_config, shared_memory_config;
  uint16_t registers_per_thread;
  uint32_t partitioned_cache_requested, partitioned_cache_executed;
  uint64_t start, end, completed;
  uint32_t device, context, stream;
  int32_t grid[3], block[3];
  int32_t static_shared_memory, dynamic_shared_memory;
  uint32_t local_memory_per_thread, local_memory_total, correlation;
  int64_t grid_id;
  const char* name;
};

struct GSD_CUPTI_RECORD MemcpyRecord {  // CUpti_ActivityMemcpy
  ActivityKind kind;
  uint8_t copy_kind, source_kind, target_kind, flags;
  uint64_t bytes, start, end;
  uint32_t device, context, stream, correlation;
};

struct GSD_CUPTI_RECORD PeerMemcpyRecord {  // CUpti_ActivityMemcpyPtoP
  ActivityKind kind;
  uint8_t copy_kind, source_kind, target_kind, flags;
  uint64_t bytes, start, end;
  uint32_t device, context, stream;
  uint32_t source_device, source_context, target_device, target_context, correlation;
};

struct GSD_CUPTI_RECORD MemsetRecord {  // CUpti_ActivityMemset
  ActivityKind kind;
  uint32_t value;
  uint64_t bytes, start, end;
  uint32_t device, context, stream, correlation;
};

struct GSD_CUPTI_RECORD ApiRecord {  // CUpti_ActivityAPI
  ActivityKind kind;
  uint32_t call;  // CUpti_CallbackId
  uint64_t start, end;
  uint32_t process, thread, correlation, returned;
};

struct GSD_CUPTI_RECORD SynchronizationRecord {  // CUpti_ActivitySynchronization
  ActivityKind kind;
  uint32_t type;
  uint64_t start, end;
  uint32_t correlation, context, stream, event;
};

struct GSD_CUPTI_RECORD OverheadRecord {  // CUpti_ActivityOverhead
  ActivityKind kind;
  uint32_t overhead_kind, object_kind;
  uint32_t object_id[3];
  uint64_t start, end;
};

struct GSD_CUPTI_RECORD GraphTraceRecord {  // CUpti_ActivityGraphTrace
  ActivityKind kind;
  uint32_t correlation;
  uint64_t start, end;
  uint32_t device, graph, context, stream;
};

static_assert(sizeof(KernelRecord) == 112 && sizeof(MemcpyRecord) == 48 && sizeof(PeerMemcpyRecord) == 64);
static_assert(sizeof(MemsetRecord) == 48 && sizeof(ApiRecord) == 40 && sizeof(SynchronizationRecord) == 40);
static_assert(sizeof(OverheadRecord) == 40 && sizeof(GraphTraceRecord) == 40);

#undef GSD_CUPTI_RECORD

using Context = void*;
using BufferRequested = void (*)(uint8_t** buffer, size_t* bytes, size_t* most_records);
using BufferCompleted = void (*)(Context context, uint32_t stream, uint8_t* buffer, size_t bytes, size_t valid_bytes);
using TimestampCallback = uint64_t (*)(void);

// The functions that are looked up in the library; those that a version may lack are null then.
struct Functions {
  Status (*get_version)(uint32_t* version);
  Status (*get_timestamp)(uint64_t* ns);
  Status (*enable)(ActivityKind kind);
  Status (*disable)(ActivityKind kind);
  Status (*register_callbacks)(BufferRequested requested, BufferCompleted completed);
  Status (*get_next_record)(uint8_t* buffer, size_t valid_bytes, ActivityRecord** record);
  Status (*flush_all)(uint32_t flag);
  Status (*dropped_records)(Context context, uint32_t stream, size_t* dropped);
  Status (*register_timestamp_callback)(TimestampCallback callback);  // CUDA 11.6 on
  Status (*set_thread_id_type)(ThreadIdType type);
  Status (*get_thread_id_type)(ThreadIdType* type);
  Status (*enable_runtime_call)(uint32_t call, uint8_t enable);  // CUDA 12.5 on
  Status (*enable_driver_call)(uint32_t call, uint8_t enable);
};

}  // namespace gradsync::cupti
