#include "collectors/inject/cupti/events.h"

#include <stdio.h>

#include "src/spool_writer/gsd.h"
#include "src/spool_writer/strings.h"
#include "src/spool_writer/write_event.h"

namespace gradsync::cupti {
namespace {

using spool::Attribute;
using spool::AttributeType;
using spool::Kind;
using spool::Phase;
using spool::Source;

// As spool::write_event, with a lane that is not the writing thread's.
void write_record(spool::What what, uint32_t lane_of_work, const Activity& activity, const Attribute* attributes,
                  uint32_t count) {
  spool::Lane& lane = spool::t_lane;
  spool::Busy busy(lane);
  if (!busy.entered()) return spool::count_lost(&spool::SpoolHeader::dropped_nested);
  spool::Record* record = spool::claim(lane, 1 + count);
  if (record == nullptr) return spool::count_refused(lane);
  const auto target = static_cast<uint32_t>(spool::reference_of(lane, record));
  for (uint32_t i = 0; i < count; ++i) spool::fill_attribute(record + 1 + i, target, attributes[i]);
  const Kind kind = what.kind;
  what.kind = Kind::empty;  // until the fields below are right
  spool::fill_event(lane, record, what, activity.bytes, GSD_WHERE(0, activity.thread), activity.start_ns,
                    activity.end_ns);
  if (lane_of_work != 0) record->lane = lane_of_work;
  record->correlation = activity.correlation;
  __atomic_signal_fence(__ATOMIC_RELEASE);
  record->kind = kind;
  spool::publish(lane, 1 + count);
}

bool on_device(Kind kind) { return kind == Kind::kernel || kind == Kind::copy || kind == Kind::memset; }

}  // namespace

uint32_t EventWriter::name_of(const Activity& activity) {
  if (activity.graph == 0) return activity.name == nullptr ? 0 : gsd_string(activity.name, -1);
  char text[64];
  return gsd_string(text, snprintf(text, sizeof text, "%s %u", activity.name, activity.graph - 1));
}

void EventWriter::write(const Activity& activity) {
  Attribute attributes[3];
  uint32_t count = 0;
  const auto add = [&](const char* key, uint64_t value) {
    const uint32_t id = value == 0 ? 0 : gsd_string(key, -1);
    if (id != 0) attributes[count++] = {id, AttributeType::integer, static_cast<int64_t>(value)};
  };
  if (activity.kind == Kind::kernel && activity.graph == 0) {
    add("launch_threads", activity.blocks * activity.block_threads);
    add("occupancy_percent", occupancy_percent(devices_.limits(activity.device),
                                               {activity.block_threads, activity.registers, activity.shared_bytes}));
    add("multiprocessors_percent", multiprocessors_percent(devices_.limits(activity.device), activity.blocks));
  }
  const uint32_t lane = on_device(activity.kind) ? stream_lane(activity.device, activity.stream) : 0;
  write_record({activity.kind, Phase::none, Source::cupti, 0, name_of(activity)}, lane, activity, attributes, count);
}

void write_loss(uint64_t count, const char* why) {
  if (count == 0) return;
  const int64_t now = gsd_now();
  gsd_event(GSD_WHAT(Kind::loss, 0, Source::cupti, 0, gsd_string(why, -1)), count, 0, now, now);
}

}  // namespace gradsync::cupti
