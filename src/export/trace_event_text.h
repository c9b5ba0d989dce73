// One event of a timeline as one of a trace. Its args hold everything that the importer needs to make the same event
// again, under the names of docs/events.md, and what the join of the ranks found.
#pragma once

#include <string>

#include "src/export/trace_text.h"
#include "src/timeline/rank_timeline.h"

namespace gradsync {

// What the slice is called: "step 12", "waits: python3", "irq eth0-rx"; else the event's own name.
std::string shown_name(const RankTimeline& rank, const Event& event);

// Whether it is drawn as an instant: a mark, a loss, or what never ended.
bool is_instant(const Event& event);

// `shared` may be null. Stamps are relative to `origin`.
void write_event(TraceText& text, const RankTimeline& rank, const Event& event, const SharedCollective* shared,
                 Track track, Nanoseconds origin);

}  // namespace gradsync
