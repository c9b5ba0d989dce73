// Traces that this program wrote (show --perfetto) → the events that they were made of: every rank of the job in one
// file. What it writes is drawn in src/export/perfetto.h; its first member says that it is one.
//
//   gradsync_rank, _facts, _lane   a process of its own for each rank, its facts, its lanes
//   gradsync_machine               a process whose events name theirs: waits for a CPU, interrupts
//   args gsd.kind …                the event as it was; args without gsd. that are no field are its attributes
//   the rest                       arrows, names of tracks, counters, derived steps: not imported
//
// Stamps are on the job's common clock, or each rank's own where none was found.
#pragma once

#include <string_view>

#include "collectors/import/format.h"

namespace gradsync {

bool is_doctor_trace(std::string_view head);
Result<Imported> import_doctor_trace(const ImportRequest& request, EventSink& sink);

}  // namespace gradsync
