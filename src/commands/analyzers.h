// The visible list of analyzers, in the order in which they conclude: a later one may read an earlier one's metrics.
#pragma once

#include <memory>
#include <vector>

#include "src/model/analyzer.h"

namespace gradsync {

std::vector<std::unique_ptr<Analyzer>> all_analyzers();

}  // namespace gradsync
