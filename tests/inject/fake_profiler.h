// CUPTI's range profiler without a GPU, a part of the fake libcupti. Kernels that a client launches while it is on are
// ranges; it dies of a kernel of NCCL, of a second profiler, and of anything that could run a kernel again.
//
// FAKE_PROFILER_ERROR=CALL:STATUS   that call answers so: "enable:35"
// FAKE_PROFILER_PASSES=NAME         a metric that needs two passes
// FAKE_PROFILER_UNKNOWN=NAME        a metric that the chip lacks
#pragma once

// As the device would: a range when the profiler is on; `ns` is the kernel's gpu__time_duration. Any thread.
typedef void (*fake_launch_fn)(const char* name, double ns);
extern "C" void fake_profiler_launch(const char* name, double ns);
