// NCCL's profiler plug-in interface, versions 1 to 6, declared here from the public interface. NCCL looks up the data
// symbols ncclProfiler_v1 … v6 in NCCL_PROFILER_PLUGIN and takes the newest that it knows.
//
//   NCCL        asks for
//   2.23        v1
//   2.24, 2.25  v2, v1
//   2.26        v3 … v1
//   2.27        v4 … v1
//   2.28        v5 … v1
//   2.29 on     v6 … v1
//
// Only the members that we read have names; the sizes say how much of a descriptor there is.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace gradsync::nccl {

struct EventType {
  enum : uint64_t {
    group = 1,
    collective = 2,
    point_to_point = 4,
    proxy_operation = 8,
    proxy_step = 16,
    proxy_control = 32,
    kernel_channel = 64,
    net_plugin = 128,
    group_api = 256,  // from here on: version 5
    collective_api = 512,
    point_to_point_api = 1024,
    kernel_launch = 2048,
    copy_engine_collective = 4096,  // from here on: version 6
  };
};
inline constexpr int kStateKernelChannelStop = 22;  // from version 4

// The start of every descriptor. Until version 4 the type is the first byte, the next seven are padding.
struct DescriptorHead {
  uint64_t type;
  void* parent;
  int32_t rank;
  int32_t padding;
};
static_assert(sizeof(DescriptorHead) == 24);

struct CollectiveV1 {
  DescriptorHead head;
  const char* communicator_name;
  uint64_t communicator;
  uint64_t sequence;
  uint8_t function;
  const void* send;
  void* receive;
  size_t count;
  int32_t root;
  uint8_t data_type;
  uint32_t reduction;
  size_t traffic_bytes;
  uint8_t most_channels, warps, algorithm, protocol;
  int32_t collnet, nvls;
};
static_assert(sizeof(CollectiveV1) == 120 && offsetof(CollectiveV1, protocol) == 107);

struct CollectiveV2 {
  DescriptorHead head;
  const char* communicator_name;
  uint64_t communicator;
  uint64_t sequence;
  const char* function;
  const void* send;
  void* receive;
  size_t count;
  int32_t root;
  const char* data_type;
  size_t traffic_bytes;
  uint8_t most_channels, warps;
  const char* algorithm;
  const char* protocol;
};
static_assert(sizeof(CollectiveV2) == 128 && offsetof(CollectiveV2, most_channels) == 104);

struct CollectiveV3 {
  DescriptorHead head;
  const char* communicator_name;
  uint64_t communicator;
  uint64_t sequence;
  const char* function;
  const void* send;
  void* receive;
  size_t count;
  int32_t root;
  const char* data_type;
  uint8_t most_channels, warps;
  const char* algorithm;
  const char* protocol;
};
static_assert(sizeof(CollectiveV3) == 120 && offsetof(CollectiveV3, algorithm) == 104);

struct CollectiveV4 {
  DescriptorHead head;
  uint64_t sequence;
  const char* function;
  const void* send;
  void* receive;
  size_t count;
  int32_t root;
  const char* data_type;
  uint8_t channels, warps;
  const char* algorithm;
  const char* protocol;
};
static_assert(sizeof(CollectiveV4) == 104 && offsetof(CollectiveV4, algorithm) == 88);

struct CollectiveV5 {
  CollectiveV4 collective;
  void* parent_group;  // what version 4 calls the parent
};
static_assert(sizeof(CollectiveV5) == 112);

// Version 6 has descriptors for work of the copy engines beside those of version 5, which did not change.
struct CopyEngineCollectiveV6 {
  DescriptorHead head;
  uint64_t sequence;
  const char* function;
  const void* send;
  void* receive;
  size_t count;
  int32_t root;
  const char* data_type;
  const char* strategy;
  bool within_batch;
  uint32_t batch, batches, engine_sequence;
  void* stream;
};
static_assert(sizeof(CopyEngineCollectiveV6) == 112 && offsetof(CopyEngineCollectiveV6, data_type) == 72);

struct PointToPointV1 {
  DescriptorHead head;
  const char* communicator_name;
  uint64_t communicator;
  uint8_t function;
  void* buffer;
  uint8_t data_type;
  size_t count;
  int32_t peer;
};
static_assert(sizeof(PointToPointV1) == 80);

struct PointToPointV2 {  // and version 3
  DescriptorHead head;
  const char* communicator_name;
  uint64_t communicator;
  const char* function;
  void* buffer;
  const char* data_type;
  size_t count;
  int32_t peer;
};
static_assert(sizeof(PointToPointV2) == 80);

struct PointToPointV4 {
  DescriptorHead head;
  const char* function;
  void* buffer;
  const char* data_type;
  size_t count;
  int32_t peer;
  uint8_t channels;
};
static_assert(sizeof(PointToPointV4) == 64);

struct PointToPointV5 {
  PointToPointV4 transfer;
  void* parent_group;
};
static_assert(sizeof(PointToPointV5) == 72);

struct KernelChannelV4 {
  DescriptorHead head;
  uint8_t channel;
  uint64_t globaltimer_ns;  // the GPU's own clock
};
static_assert(offsetof(KernelChannelV4, globaltimer_ns) == 32);

struct KernelChannelStop {
  uint64_t globaltimer_ns;
};

// Bytes of a version's descriptor.
constexpr size_t descriptor_bytes(int version) {
  constexpr size_t kBytes[] = {0, 120, 128, 120, 104, 112, 112};
  return kBytes[version];
}

// The tables that NCCL looks up. `context` is ours, one for each communicator; all functions answer ncclSuccess (0).
using StartEvent = int (*)(void* context, void** event, void* descriptor);
using StopEvent = int (*)(void* event);
using RecordState = int (*)(void* event, int state, void* arguments);
using Finalize = int (*)(void* context);

struct ProfilerV1 {  // versions 1 to 3
  const char* name;
  int (*init)(void** context, int* mask);
  StartEvent start;
  StopEvent stop;
  RecordState record;
  Finalize finalize;
};

struct ProfilerV4 {
  const char* name;
  int (*init)(void** context, int* mask, const char* communicator_name, uint64_t communicator, int nodes, int ranks,
              int rank, void* log);
  StartEvent start;
  StopEvent stop;
  RecordState record;
  Finalize finalize;
};

struct ProfilerV5 {  // and version 6
  const char* name;
  int (*init)(void** context, uint64_t communicator, int* mask, const char* communicator_name, int nodes, int ranks,
              int rank, void* log);
  StartEvent start;
  StopEvent stop;
  RecordState record;
  Finalize finalize;
};
static_assert(sizeof(ProfilerV1) == 48 && sizeof(ProfilerV4) == 48 && sizeof(ProfilerV5) == 48);

}  // namespace gradsync::nccl
