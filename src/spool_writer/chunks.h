// Which chunk a thread gets: one that a dead thread left unfinished, one that was reserved together with another, one
// whose space the disk refused before, or new ones at the end of the file, up to the bound.
#pragma once

#include "src/spool_writer/lane.h"

namespace gradsync::spool {

// Gives the lane a chunk with room for `records`; else sets lane.refusal and returns false.
bool take_chunk(Lane& lane, ProcessState& process, uint32_t records);

// Takes the chunk away from the lane: a full one gives its memory back (it stays mapped: any thread may end an event
// in it), one with room waits for the next thread.
void leave_chunk(Lane& lane, ProcessState& process);

}  // namespace gradsync::spool
