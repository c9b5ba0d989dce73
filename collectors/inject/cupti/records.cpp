#include "collectors/inject/cupti/records.h"

#include <string.h>

#include "collectors/inject/cupti/calls.h"

namespace gradsync::cupti {
namespace {

using spool::Kind;

// Waiting of one stream for an event (2) is not the host's.
constexpr uint32_t kEventSynchronize = 1, kStreamSynchronize = 3, kContextSynchronize = 4;

__thread char t_copy_name[kCopyNameBytes];  // of the record decoded last

Decoded timed(uint64_t start, uint64_t end, const ClockWindow& clock, Activity& activity) {
  if (start == 0 || end < start) return Decoded::bad;
  activity.start_ns = static_cast<int64_t>(start) + clock.offset_ns;
  activity.end_ns = static_cast<int64_t>(end) + clock.offset_ns;
  // An end of 0 means "open" in the spool; a clock that another tool changed shows as times that have not come yet.
  const bool possible = activity.start_ns >= clock.earliest && activity.end_ns <= clock.latest;
  return possible ? Decoded::event : Decoded::bad;
}

template <typename Record>
Decoded on_device(const Record& record, Kind kind, const ClockWindow& clock, Activity& activity) {
  activity.kind = kind;
  activity.device = record.device;
  activity.stream = record.stream;
  activity.correlation = record.correlation;
  return timed(record.start, record.end, clock, activity);
}

template <typename Record>
const Record& as(const ActivityRecord* record) {
  return *reinterpret_cast<const Record*>(record);
}

uint64_t product(const int32_t (&sizes)[3]) {
  uint64_t result = 1;
  for (const int32_t size : sizes) result *= size > 0 ? static_cast<uint64_t>(size) : 1;
  return result;
}

Decoded kernel(const KernelRecord& record, const ClockWindow& clock, Activity& activity) {
  activity.name = record.name;
  activity.blocks = product(record.grid);
  activity.block_threads = static_cast<uint32_t>(product(record.block));
  activity.registers = record.registers_per_thread;
  const int64_t shared = int64_t{record.static_shared_memory} + record.dynamic_shared_memory;
  activity.shared_bytes = shared > 0 ? static_cast<uint32_t>(shared) : 0;
  return on_device(record, Kind::kernel, clock, activity);
}

template <typename Record>
Decoded copy(const Record& record, const ClockWindow& clock, Activity& activity) {
  copy_name(record.copy_kind, record.source_kind, record.target_kind, t_copy_name);
  activity.name = t_copy_name;
  activity.bytes = record.bytes;
  return on_device(record, Kind::copy, clock, activity);
}

Decoded call(const ApiRecord& record, Api api, const ClockWindow& clock, Activity& activity) {
  const KnownCall* known = known_call(api, record.call);
  if (known == nullptr) return Decoded::ignored;
  activity.kind = known->kind == CallKind::wait ? Kind::host_sync : Kind::host_call;
  activity.name = known->name;
  activity.thread = record.thread;
  activity.correlation = record.correlation;
  return timed(record.start, record.end, clock, activity);
}

Decoded synchronization(const SynchronizationRecord& record, const ClockWindow& clock, Activity& activity) {
  switch (record.type) {
    case kEventSynchronize:
      activity.name = "event synchronisation";
      break;
    case kStreamSynchronize:
      activity.name = "stream synchronisation";
      break;
    case kContextSynchronize:
      activity.name = "context synchronisation";
      break;
    default:
      return Decoded::ignored;
  }
  activity.kind = Kind::host_sync;
  activity.correlation = record.correlation;
  return timed(record.start, record.end, clock, activity);
}

Decoded graph(const GraphTraceRecord& record, const ClockWindow& clock, Activity& activity) {
  activity.name = "CUDA graph";
  activity.graph = record.graph + 1;
  return on_device(record, Kind::kernel, clock, activity);
}

Decoded overhead(const OverheadRecord& record, const ClockWindow& clock, Activity& activity) {
  const Decoded decoded = timed(record.start, record.end, clock, activity);
  return decoded == Decoded::event ? Decoded::overhead : decoded;
}

const char* direction(uint8_t copy_kind) {
  static constexpr const char* kDirections[] = {"",     "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
                                                "AtoD", "DtoA", "DtoD", "HtoH", "PtoP"};
  return copy_kind < sizeof kDirections / sizeof kDirections[0] ? kDirections[copy_kind] : "";
}

const char* memory(uint8_t kind) {
  static constexpr const char* kMemories[] = {"Unknown", "Pageable", "Pinned",        "Device",
                                              "Array",   "Managed",  "Device Static", "Managed Static"};
  return kMemories[kind < sizeof kMemories / sizeof kMemories[0] ? kind : 0];
}

}  // namespace

Decoded decode(const ActivityRecord* record, const ClockWindow& clock, Activity& activity) {
  memset(&activity, 0, sizeof activity);
  switch (record->kind) {
    case ActivityKind::concurrent_kernel:
      return kernel(as<KernelRecord>(record), clock, activity);
    case ActivityKind::memcpy:
      return copy(as<MemcpyRecord>(record), clock, activity);
    case ActivityKind::memcpy_peer:
      return copy(as<PeerMemcpyRecord>(record), clock, activity);
    case ActivityKind::memset: {
      const auto& set = as<MemsetRecord>(record);
      activity.name = "Memset (Device)";
      activity.bytes = set.bytes;
      return on_device(set, Kind::memset, clock, activity);
    }
    case ActivityKind::runtime:
      return call(as<ApiRecord>(record), Api::runtime, clock, activity);
    case ActivityKind::driver:
      return call(as<ApiRecord>(record), Api::driver, clock, activity);
    case ActivityKind::synchronization:
      return synchronization(as<SynchronizationRecord>(record), clock, activity);
    case ActivityKind::graph_trace:
      return graph(as<GraphTraceRecord>(record), clock, activity);
    case ActivityKind::overhead:
      return overhead(as<OverheadRecord>(record), clock, activity);
    case ActivityKind::invalid:
      break;
  }
  return Decoded::ignored;
}

void copy_name(uint8_t copy, uint8_t source, uint8_t target, char* text) {
  const char* const pieces[] = {"Memcpy ", direction(copy), " (", memory(source), " -> ", memory(target), ")"};
  char* end = text;
  for (const char* piece : pieces) {
    const size_t bytes = strlen(piece);
    memcpy(end, piece, bytes);
    end += bytes;
  }
  *end = 0;
}

}  // namespace gradsync::cupti
