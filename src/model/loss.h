// How a source says that something should be here and is not.
#pragma once

#include "src/model/event.h"

namespace gradsync {

// An event: so many are missing, for the reason that `why` names.
inline Event loss_event(NameId why, Source source, std::uint64_t count) {
  Event loss;
  loss.kind = Kind::loss;
  loss.source = source;
  loss.name = why;
  loss.bytes = static_cast<std::int64_t>(count);
  return loss;
}

}  // namespace gradsync
