// A collective that the framework's hook saw, and the NCCL call that it made: one event.
//
//   lane 3   hook   all_reduce ├────────────────┤      bytes, dtype, site, communicator as the framework has them
//            NCCL        all_reduce ├──────┤           folded: algorithm, protocol, channels, gpu_ns go to the hook's
//
// The call inside is known by its thread and its time: the hook's event of a device collective ends with the call. An
// all-to-all is made of sends and receives, which are folded too. NCCL calls outside of the hook's events (DDP's own
// before torch 2.15, other frameworks) stay.
#pragma once

#include "src/timeline/rank_timeline.h"

namespace gradsync {

// Key of the attribute that names the source (vocabulary.h) of an event's bytes, where it is not the event's own; and the
// words it may have. The builder interns them.
inline constexpr std::string_view kBytesFrom = "bytes_from";
inline constexpr Source kTellBytes[] = {Source::nccl_nvtx, Source::nccl_wrapper, Source::nccl_plugin,
                                        Source::torch_hook};

// `rank.events` are sorted by start, and stay so.
void fold_nccl_calls(RankTimeline& rank);

}  // namespace gradsync
