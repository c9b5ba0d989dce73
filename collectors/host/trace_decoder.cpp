#include "collectors/host/trace_decoder.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace gradsync {
namespace {

struct Wanted {
  const char* name;
  TraceKind kind;
  const char *from, *to, *from_name, *to_name, *state;  // "" = has none
};

constexpr Wanted kWanted[] = {
    {"sched/sched_switch", TraceKind::sched_switch, "prev_pid", "next_pid", "prev_comm", "next_comm", "prev_state"},
    {"sched/sched_waking", TraceKind::waking, "", "pid", "", "comm", ""},
    {"sched/sched_wakeup_new", TraceKind::newborn, "", "pid", "", "comm", ""},
    {"irq/irq_handler_entry", TraceKind::irq_entry, "", "irq", "", "name", ""},
    {"irq/irq_handler_exit", TraceKind::irq_exit, "ret", "irq", "", "", ""},
    {"irq/softirq_entry", TraceKind::softirq_entry, "", "vec", "", "", ""},
    {"irq/softirq_exit", TraceKind::softirq_exit, "", "vec", "", "", ""},
};

bool find_field(const TraceFormat& format, const char* name, TraceField& field) {
  if (*name == '\0') return true;
  const auto found = format.fields.find(std::string_view(name));
  if (found == format.fields.end()) return false;
  field = found->second;
  return true;
}

void copy_text(std::string_view text, std::array<char, 16>& into) {
  std::copy_n(text.begin(), std::min(text.size(), into.size()), into.begin());
}

}  // namespace

std::string_view softirq_name(std::int32_t vector) {
  constexpr std::string_view kNames[] = {"HI",       "TIMER",   "NET_TX", "NET_RX",  "BLOCK",
                                         "IRQ_POLL", "TASKLET", "SCHED",  "HRTIMER", "RCU"};
  return vector >= 0 && vector < static_cast<std::int32_t>(std::size(kNames)) ? kNames[vector] : "?";
}

const std::vector<std::string>& TraceDecoder::names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Wanted& wanted : kWanted) all.emplace_back(wanted.name);
    return all;
  }();
  return names;
}

std::optional<TraceDecoder> TraceDecoder::from(const std::map<std::string, TraceFormat>& formats) {
  TraceDecoder decoder;
  for (const Wanted& wanted : kWanted) {
    const auto found = formats.find(wanted.name);
    if (found == formats.end()) return std::nullopt;
    const TraceFormat& format = found->second;
    Entry entry{format.id, wanted.kind, {}, {}, {}, {}, {}};
    if (!find_field(format, "common_type", decoder.type_) || !find_field(format, "common_pid", decoder.current_) ||
        !find_field(format, wanted.from, entry.from) || !find_field(format, wanted.to, entry.to) ||
        !find_field(format, wanted.from_name, entry.from_name) || !find_field(format, wanted.to_name, entry.to_name) ||
        !find_field(format, wanted.state, entry.state))
      return std::nullopt;
    decoder.entries_.push_back(entry);
  }
  return decoder;
}

std::vector<std::uint64_t> TraceDecoder::event_ids() const {
  std::vector<std::uint64_t> ids;
  for (const Entry& entry : entries_) ids.push_back(entry.id);
  return ids;
}

std::optional<std::size_t> TraceDecoder::index_of(std::span<const std::byte> raw) const {
  const auto type = trace_number(raw, type_);
  if (!type) return std::nullopt;
  for (std::size_t i = 0; i < entries_.size(); ++i)
    if (entries_[i].id == static_cast<std::uint64_t>(*type & 0xffff)) return i;
  return std::nullopt;
}

std::optional<TraceEvent> TraceDecoder::decode(std::span<const std::byte> raw) const {
  const auto index = index_of(raw);
  if (!index) return std::nullopt;
  const Entry& entry = entries_[*index];
  TraceEvent event;
  event.kind = entry.kind;
  const auto current = trace_number(raw, current_), to = trace_number(raw, entry.to);
  if (!current || !to) return std::nullopt;
  event.current = static_cast<std::int32_t>(*current);
  event.to = static_cast<std::int32_t>(*to);
  if (entry.to_name.size > 0) copy_text(trace_text(raw, entry.to_name), event.to_name);
  if (entry.from.size == 0) return event;
  const auto from = trace_number(raw, entry.from);
  if (!from) return std::nullopt;
  event.from = static_cast<std::int32_t>(*from);
  if (entry.kind != TraceKind::sched_switch) return event;
  const auto state = trace_number(raw, entry.state);
  if (!state) return std::nullopt;
  event.runnable = (*state & 0xff) == 0;  // the bit above says that it was preempted
  copy_text(trace_text(raw, entry.from_name), event.from_name);
  return event;
}

}  // namespace gradsync
