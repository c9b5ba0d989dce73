// JSON object → TraceEvent. Private to this folder: it speaks simdjson.
#pragma once

#include <simdjson.h>

#include "collectors/import/trace_event.h"

namespace gradsync {

// Reads all members, in whatever order; of a repeated key the last one counts. Values nobody asks for are skipped
// unparsed, so NaN and numbers of 20 digits do no harm there. Arrows (ph s, f) are read only up to their ph. False: the
// object's syntax is broken.
bool read_trace_event(simdjson::ondemand::object object, TraceEvent& event);

// A scalar's text: strings without quotes and escapes, everything else as it stands.
std::string_view scalar_text(simdjson::ondemand::value value);

}  // namespace gradsync
