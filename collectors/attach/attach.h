// The launcher's side of what runs inside the job: sets the variables that load it, tries them before exec, and
// watches which processes of the job took them.
#pragma once

#include <memory>

#include "src/model/collector.h"

namespace gradsync {

// PYTHONPATH and GSD_*: the Python hook (collectors/torch).
std::unique_ptr<Collector> make_torch_attach();

// NVTX_INJECTION64_PATH: ranges of native code and NCCL's own (collectors/inject). Chains to a tool that is there.
std::unique_ptr<Collector> make_nvtx_attach();

// CUDA_INJECTION64_PATH and GSD_CUPTI: what the device does (collectors/inject). Leaves the GPU to a tool that is there.
std::unique_ptr<Collector> make_cupti_attach();

// GSD_COUNTERS: hardware counters of kernels that compress (run --counters), where the driver allows.
std::unique_ptr<Collector> make_gpu_counters_attach();

// LD_PRELOAD: the wrappers of collectors/inject, where NCCL's ranges tell too little.
std::unique_ptr<Collector> make_nccl_calls_attach();

// NCCL_PROFILER_PLUGIN: what only NCCL's plug-in interface tells. Chains to a plug-in that is there.
std::unique_ptr<Collector> make_nccl_plugin_attach();

// Looks at the job's processes in /proc while they live: which interpreter ran without the hook, and why.
std::unique_ptr<Collector> make_process_watch();

// Runs `program` (an interpreter, or /bin/true) once with `environment`. Nothing when it exits with 0, else what
// happened: a variable that kills programs at exec must not reach the job.
std::string try_environment(const std::string& program, const Environment& environment);

// The program of the command line that will read the variables: the interpreter itself when CMD is python, else
// /bin/true (the dynamic loader is what matters then).
std::string probe_program(const std::vector<std::string>& command_line);

}  // namespace gradsync
