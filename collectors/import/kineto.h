// Chrome traces of PyTorch's profilers → events: Kineto's object format (torch 1.8 on, CPU, CUDA, ROCm) and the bare
// array of the autograd profiler without Kineto. Any other Chrome trace gives ranges.
//
//   cat, name                                         event (source profiler)
//   kernel                                            kernel on a stream lane
//   kernel, NCCL by name, or with "Collective name"   collective on a stream lane; attribute kernel = its name
//   gpu_memcpy, gpu_memset                            copy, memset, with bytes
//   cuda_runtime, …: *Synchronize                     host_sync
//   cuda_runtime, …: others                           host_call; correlation = that of its kernel
//   gloo:…, mpi:…, ucc:…                              collective on its thread's lane, issue to completion
//   ProfilerStep#N                                    step N
//   the rest on CPU threads, c10d::…, nccl:…          range; nested as it was
//   gpu_user_annotation                               range on a stream lane
//   "CUDA functions" of the old profiler              kernel, extrapolated: placed at its operator's start
//
// A collective is named as in docs/events.md, or "collective" when the trace does not tell the operation. Its bytes are
// this rank's input (all_gather, reduce_scatter: the part per rank) and 0 when unknown; attributes dtype, elements,
// op (sum, …), group_size where known. A kernel that converts between element types has the attribute threads, what its
// launch comes to. Arrows, instants and the profiler's own spans are counted, not imported.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "collectors/import/clock_map.h"
#include "collectors/import/find_rank.h"
#include "src/base/result.h"
#include "src/model/event_sink.h"

namespace gradsync {

struct ImportOptions {
  // Begun in the sink before the events. A timeline makes one rank of each (host, pid), and pids of containers
  // repeat: give every file its own. Without it the caller has begun the process, and no facts are written.
  std::optional<ProcessInfo> process;
  // CLOCK_MONOTONIC of the marker ranges: stamps are mapped to it. Without it they stay the trace's own, in ns.
  std::optional<ClockStamps> monotonic;
  std::optional<int> rank;  // known better than from the file
};

struct ImportStats {
  std::uint64_t bytes = 0;                  // of JSON text, inflated
  std::uint64_t elements = 0;               // complete ones in the list of events
  std::uint64_t events = 0;                 // given to the sink, losses not counted
  std::array<std::uint64_t, 32> by_kind{};  // of them, by Kind
  std::uint64_t nccl_kernels = 0;           // of the collectives
  std::uint64_t flows = 0, metadata = 0, instants = 0, profiler_spans = 0, device_syncs = 0;  // not imported
  std::uint64_t other_phases = 0;  // counters, asynchronous events, … : not imported
  std::uint64_t malformed = 0;     // without name or time, or with a time that is not a number; not objects
  std::uint64_t repaired = 0;      // had bytes that are not UTF-8: imported, with question marks
  std::uint64_t lost = 0;          // could not be read; a lower bound. One loss event for each reason
  bool cut = false;                // the file ends before its list of events does
  std::string loss_reason;         // in words; empty when nothing is lost

  FoundRank rank;
  std::int64_t world_size = 0;  // 0 = unknown
  std::string backend;
  std::optional<Nanoseconds> base_time;  // what the trace's stamps count from (since 1970), when it tells
  std::size_t processes = 0;             // with CPU threads; more than one: a merged trace, poured into one process
  std::size_t devices = 0;
  Nanoseconds first = 0, last = 0;            // of the imported events
  std::optional<Nanoseconds> clock_residual;  // with options.monotonic

  std::uint64_t count(Kind kind) const { return by_kind[static_cast<std::size_t>(kind)]; }
};

// Errors: not readable, not a trace; options.monotonic given and the marker ranges are not there. After an error
// nothing was written to the sink. A file that is cut or partly broken is not an error.
Result<ImportStats> import_kineto(const std::filesystem::path& path, const ImportOptions& options, EventSink& sink);

}  // namespace gradsync
