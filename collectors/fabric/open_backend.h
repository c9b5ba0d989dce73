// Backends by name: the one place that lists them.
#pragma once

#include <memory>
#include <string>

#include "collectors/fabric/backend.h"

namespace gradsync {

// What `auto` means on this machine: nccl where there are devices for it, else gloo.
std::string automatic_backend();

// `plugins`: the folder with libgradsync_gloo.so. Error: unknown name, no such library, another version, or what it
// needs is not installed.
Result<std::unique_ptr<FabricBackend>> open_backend(const std::string& name, const std::string& plugins);

}  // namespace gradsync
