// The reference loads of a device, from the plug-in beside the program.
#pragma once

#include "loads/library.h"
#include "src/base/result.h"

namespace gradsync {

// `device`: cpu. Error: the plug-in is missing or of another version; there are no loads for this device.
Result<const LoadLibrary*> open_loads(const std::string& device);

}  // namespace gradsync
