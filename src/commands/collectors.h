// The visible list of collectors, in the order in which they start.
#pragma once

#include <memory>
#include <vector>

#include "src/model/collector.h"

namespace gradsync {

std::vector<std::unique_ptr<Collector>> all_collectors();

}  // namespace gradsync
