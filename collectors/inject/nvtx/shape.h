// What becomes of an NVTX call: an event that a later call ends, or one that is over.
#pragma once

#include <stdint.h>

#include "src/spool_writer/write_event.h"

namespace gradsync::nvtx {

enum class Shape : uint8_t { open, instant };

inline spool::Span span_of(Shape shape) {
  const int64_t now = spool::now();
  return {now, shape == Shape::open ? 0 : now};
}

}  // namespace gradsync::nvtx
