// Files of the deep windows, into the feeds of their processes. Their clock is tied to the spool's by the stamps that
// the window event carries; a file that cannot be read, or has no such event, is coverage.
#pragma once

#include <vector>

#include "src/spool_reader/recording.h"
#include "src/timeline/builder.h"

namespace gradsync {

void read_deep_windows(const RecordingFolder& folder, TimelineBuilder& builder, std::vector<Coverage>& coverage);

}  // namespace gradsync
