// What a sweep over NCCL says about itself, and what it asks of NCCL by variables before it is loaded.
#pragma once

#include <string>

#include "collectors/fabric/nccl_connect.h"
#include "src/model/report.h"

namespace gradsync {

Facts nccl_facts(const NcclLibraries& libraries, const NcclConnection& connection, double empty_kernel_us);

}  // namespace gradsync
