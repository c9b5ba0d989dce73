// Writing one event record, inline: the C ABI and the NVTX callbacks share it. Every function takes the calling
// thread's lane, so that a callback looks it up once.
#pragma once

#include <string.h>

#include "src/spool_writer/kernel.h"
#include "src/spool_writer/lane.h"

namespace gradsync::spool {

struct What {
  Kind kind;
  Phase phase;
  Source source;
  uint8_t flags;
  uint32_t name;

  // From GSD_WHAT.
  static What unpack(uint64_t packed) {
    return {static_cast<Kind>(packed), static_cast<Phase>(packed >> 8), static_cast<Source>(packed >> 16),
            static_cast<uint8_t>(packed >> 24), static_cast<uint32_t>(packed >> 32)};
  }
};

// The lane must be busy and `record` claimed; all that was there is overwritten.
inline void fill_event(const Lane& lane, Record* record, What what, uint64_t bytes, uint64_t where, int64_t start_ns,
                       int64_t end_ns) {
  record->phase = what.phase;
  record->source = what.source;
  record->flags = what.flags;
  record->lane = lane.ordinal;
  record->step = load_relaxed(&g_process->step_plus_one) - 1;
  record->name = what.name;
  record->start_ns = start_ns;
  record->end_ns = end_ns;
  record->correlation = 0;
  record->bytes = bytes;
  record->group = static_cast<uint32_t>(where);
  record->sequence = static_cast<uint32_t>(where >> 32);
  record->reserved = 0;
  __atomic_signal_fence(__ATOMIC_RELEASE);  // kind last: a killed process leaves no half record with a kind
  record->kind = what.kind;
}

struct Attribute {
  uint32_t key;
  AttributeType type;
  int64_t value;
};

inline void fill_attribute(Record* room, uint64_t target, const Attribute& attribute) {
  auto* record = reinterpret_cast<AttributeRecord*>(room);
  record->type = attribute.type;
  record->key = attribute.key;
  record->target = target;
  record->value = attribute.value;
  __atomic_signal_fence(__ATOMIC_RELEASE);
  record->kind = Kind::attribute;
}

struct Span {
  int64_t start_ns;
  int64_t end_ns;  // 0 = open
};

// Writes an event and its attributes. `span` is called once there is room (which may take long) and gives the times.
// kNoEvent when the event was dropped, which is counted.
template <typename SpanOf>
inline uint64_t write_event(Lane& lane, What what, uint64_t bytes, uint64_t where, SpanOf span,
                            const Attribute* attributes = nullptr, uint32_t attribute_count = 0) {
  Busy busy(lane);
  if (__builtin_expect(!busy.entered(), 0)) return count_lost(&SpoolHeader::dropped_nested), kNoEvent;
  ++lane.calls;
  Record* record = claim(lane, 1 + attribute_count);
  if (__builtin_expect(record == nullptr, 0)) return count_refused(lane), kNoEvent;
  const uint64_t reference = reference_of(lane, record);
  for (uint32_t i = 0; i < attribute_count; ++i) {
    fill_attribute(record + 1 + i, static_cast<uint32_t>(reference), attributes[i]);
  }
  const Span times = span();
  if (times.end_ns == 0) ++lane.calls;  // the end will be a call too; counted here, it needs no look at the lane
  fill_event(lane, record, what, bytes, where, times.start_ns, times.end_ns);
  publish(lane, 1 + attribute_count);
  return reference;
}

// An event that starts now and is open.
inline uint64_t begin_event(Lane& lane, What what, uint64_t bytes, uint64_t where) {
  return write_event(lane, what, bytes, where, [] { return Span{now(), 0}; });
}

// Two threads that end the same event at the same time may both store; either moment is true.
inline void close_record(Record* record, int64_t end_ns) {
  if (load_relaxed(&record->end_ns) == 0) store_relaxed(&record->end_ns, end_ns);
}

inline void end_event(uint64_t reference) {
  if (reference == kNoEvent) return;
  if (Record* record = event_at(reference)) close_record(record, now());
}

}  // namespace gradsync::spool
