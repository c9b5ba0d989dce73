// The reference loads of a device, from the plug-in beside the program.
#pragma once

#include "loads/library.h"
#include "src/base/result.h"

namespace gradsync {

// `device`: cpu or cuda. Error: the plug-in is missing or of another version; the driver or the device is missing.
Result<const LoadLibrary*> open_loads(const std::string& device);

}  // namespace gradsync
