// A communication hook for PyTorch's DistributedDataParallel, as one Python file, from a report's series `bucket_plan`:
// each bucket dense, in half precision, or as Top-K with error feedback.
#pragma once

#include <string>

#include "src/base/result.h"
#include "src/model/report.h"

namespace gradsync {

// Error: the report holds no plan; it says why.
Result<std::string> ddp_hook_file(const Report& report);

}  // namespace gradsync
