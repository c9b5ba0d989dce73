// Which call asked for which collective of the device: range → launch → correlation → kernel, also across the end of a
// group. The kernel tells when; the calls tell how many bytes, in which communicator, and from where in the program.
#pragma once

#include <vector>

#include "src/timeline/rank_timeline.h"

namespace gradsync {

// Of what CUPTI recorded. Each linked kernel takes over what its calls know; the calls are ranges afterwards, so that a
// collective is there once.
void link_device_collectives(std::vector<RankTimeline>& ranks);

}  // namespace gradsync
