// The data symbols that NCCL looks up in NCCL_PROFILER_PLUGIN.
//
// Collectives and point-to-point transfers by default: when NCCL launches them it tells the algorithm, the protocol and
// the channels, which nothing else does. GSD_NCCL_EVENTS adds `kernels` (how long each channel's kernel ran, by the
// GPU's clock) and `proxy` (the proxy thread's network operations and their steps).
#pragma once

#include "collectors/inject/abi/nccl_profiler_abi.h"
#include "src/spool_writer/gsd.h"

extern "C" {
// NOLINTBEGIN(readability-identifier-naming): the names are NCCL's
GSD_EXPORT extern const gradsync::nccl::ProfilerV1 ncclProfiler_v1;
GSD_EXPORT extern const gradsync::nccl::ProfilerV1 ncclProfiler_v2;
GSD_EXPORT extern const gradsync::nccl::ProfilerV1 ncclProfiler_v3;
GSD_EXPORT extern const gradsync::nccl::ProfilerV4 ncclProfiler_v4;
GSD_EXPORT extern const gradsync::nccl::ProfilerV5 ncclProfiler_v5;
GSD_EXPORT extern const gradsync::nccl::ProfilerV5 ncclProfiler_v6;
// NOLINTEND(readability-identifier-naming)
}
