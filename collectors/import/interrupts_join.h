// Two files with one snapshot of /proc/interrupts each, before and after, are one interval when they are of one
// machine and one boot.
#pragma once

#include <vector>

#include "src/model/report.h"
#include "src/model/series.h"

namespace gradsync {

// Replaces `irq_since_boot` of two files by the series `irq`, and says in `coverage` what is missing for that, or for
// rates. Nothing happens without that series.
void join_interrupt_files(SeriesSet& series, std::vector<Coverage>& coverage);

}  // namespace gradsync
