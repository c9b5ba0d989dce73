// Error feedback around any load: what a step did not send is added to the next gradient.
//
//   p = gradient + residual ─▶ compress ─▶ payload          residual = p − what the payload stands for
//
// Of selections the entries that were sent are exactly zero afterwards. With momentum (DGC) u = momentum × u + gradient
// stands in place of the gradient, and u of what was sent begins anew. Costs R 8n  W 4n more, with momentum R 4n  W 4n
// on top; where the load is no selection also its decoding and R 8n  W 4n.
#pragma once

#include <memory>

#include "loads/load.h"

namespace gradsync {

std::unique_ptr<Load> with_feedback(std::unique_ptr<Load> load, const LoadOptions& options);

}  // namespace gradsync
