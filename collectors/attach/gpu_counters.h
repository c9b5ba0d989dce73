// `run --counters`: which hardware counters of the GPU, and whether the driver lets this user read them.
#pragma once

#include <filesystem>
#include <string>

#include "src/base/result.h"

namespace gradsync {

// What CUPTI reads in one pass on every chip from the A100 on (asked of libcupti 13.0 for 28 chips, 24 of them newer):
// device memory and L2 as shares of their peak, warps resident and multiprocessors busy as shares, hits of the L1
// cache. Separated by commas. The hit rate of the L2 cache needs two passes on all of them.
std::string default_counters();

// The list as it is given when each of its names is one of CUPTI's, "<unit>__<counter>.<rollup>…"; empty: the default.
Result<std::string> counter_names(const std::string& names);

enum class CounterPermission { everybody, administrator_only, unknown };

// RmProfilingAdminOnly of the driver's parameters, below a root; unknown where there is no such file or line.
CounterPermission counter_permission(const std::filesystem::path& root);

// Whether this process is administrator enough for the driver: CAP_SYS_ADMIN among its effective capabilities.
bool may_administrate(const std::filesystem::path& root);

inline constexpr const char* kCounterCollector = "GPU counters (CUPTI)";
inline constexpr const char* kCounterPermissionHint =
    "run as root or with CAP_SYS_ADMIN (docker run --cap-add SYS_ADMIN), or let everybody read counters: options "
    "nvidia "
    "NVreg_RestrictProfilingToAdminUsers=0 in /etc/modprobe.d/nvidia-profiling.conf, then load the driver again "
    "(modprobe -r nvidia_uvm nvidia_drm nvidia_modeset nvidia && modprobe nvidia, or reboot)";

}  // namespace gradsync
