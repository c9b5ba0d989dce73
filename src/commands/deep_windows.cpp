#include "src/commands/deep_windows.h"

namespace gradsync {

void read_deep_windows(const RecordingFolder&, TimelineBuilder&, std::vector<Coverage>&) {}

}  // namespace gradsync
