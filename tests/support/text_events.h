// Events written as text, so that a test's input can be read on one screen. One line an event; times in µs:
//
//   process host=node0 pid=100 clean=1 self_us=50        starts a process; facts follow
//   lane 1 tid=4000 name=python3
//   fact rank=0 ab.state="off: it has spaces"
//   step 0 1000..51000 deep=1 variant=0                  Kind::step, its number first
//   range backward 1000..13000 name=net lane=1           Kind::range by phase (none for no phase); compute_end_us=9000
//                                                        becomes the attribute compute_end_ns
//   collective all_reduce 20000..30000 bytes=4096 group=0 seq=3 id=7 async=1 hook=1 extrapolated=1 dtype=float32 elements=1024 site=a.py:3
//   wait 25000..30000 on=7                               blocked on the collective with id 7
//   host_sync item 26000..26010 hook=1 site=a.py:9
//   host_call cudaLaunchKernel 90..95 corr=12            what it launched has the same corr
//   kernel gemm 100..200   copy 100..200   mark x 100..100   loss 3 why
//   repeat 20 every 50000 from 1000                      the lines up to `end`, 20 times; in them @500 is 500 µs into a
//                                                        round that begins at 1000, 51000, …, and {3+2x} is 3, 5, 7, …
//   sched_wait python3 100..900 bytes=100 seq=4000 group=burn:911 source=host    bytes = process, seq = thread
//
// `source=profiler` on any line; keys that are not fields become attributes (integers when they look like one).
#pragma once

#include <string_view>

#include "src/model/event_sink.h"

namespace gradsync::test {

// Feeds `text` into the sink; throws std::runtime_error on a line it cannot read.
void feed(std::string_view text, EventSink& sink);

}  // namespace gradsync::test
