// The strings of a process: text → id, in anonymous memory, without a lock.
//
// Entries are written into an arena that only grows and are published by one compare-and-swap in an open-addressing
// table. Two threads that intern the same new text race for the slot: the loser's entry is wasted, ids may have gaps.
// Nothing can deadlock, in a signal handler or after fork.
//
// A forked child inherits table and ids, because callers keep ids (Python modules, NVTX string handles). Its own file
// gets all of them when it is opened: every entry knows the epoch whose file it was written to.
#pragma once

#include <stdint.h>

#include "src/spool_writer/lane.h"

namespace gradsync::spool {

inline constexpr uint32_t kMaxStrings = 49152;  // 3/4 of the slots; further new strings get id 0
inline constexpr uint32_t kStringSlots = 65536;
inline constexpr uint32_t kArenaBytes = 16u << 20;  // touched only as far as it is used

bool make_string_table();

// Id of the text, 0 when it is empty or the table is full. Does not touch the file.
uint32_t intern(const char* text, uint32_t length);
// Interns and writes the string record if the spool is open and lacks it.
uint32_t string_id(Lane& lane, const char* text, uint32_t length);
// The interned text of an id, NUL-terminated; "" when unknown.
const char* text_of(uint32_t id);
// The id of a text that text_of returned.
uint32_t id_of_interned(const char* text);

// Writes every string that the open spool lacks; stops when there is no room. The lane must be busy.
void write_missing_strings(Lane& lane);

}  // namespace gradsync::spool
