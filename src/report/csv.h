// The rows of a size sweep as CSV (RFC 4180): a column `operation`, then those of the series sweep.<op>. Pure.
#pragma once

#include <string>

#include "src/model/series.h"

namespace gradsync {

// One header, the rows of all operations below it; a column that only some of them have is empty in the others. What is
// not known is empty. Empty where there is no sweep.
std::string sweep_to_csv(const SeriesSet& series);

}  // namespace gradsync
