// Raw records of the scheduler's and interrupts' tracepoints → plain events. Pure, given the kernel's formats.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/hosttext/trace_format.h"
#include "src/model/event.h"

namespace gradsync {

enum class TraceKind : std::uint8_t { sched_switch, waking, newborn, irq_entry, irq_exit, softirq_entry, softirq_exit };

struct TraceEvent {
  Nanoseconds at = 0;
  std::int32_t cpu = 0;
  TraceKind kind = TraceKind::sched_switch;
  bool runnable = false;     // switch: the one that leaves could go on
  std::int32_t current = 0;  // thread on the CPU
  std::int32_t from = 0;     // switch; end of an irq handler: what it answered, 0 = not its device's
  std::int32_t to = 0;       // switch: comes to the CPU; waking: who is woken; irq: line; softirq: vector
  std::array<char, 16> from_name{}, to_name{};

  std::string_view name_of_from() const { return text(from_name); }
  std::string_view name_of_to() const { return text(to_name); }

 private:
  static std::string_view text(const std::array<char, 16>& chars) {
    const std::string_view all(chars.data(), chars.size());
    return all.substr(0, all.find('\0'));
  }
};

// "NET_RX"; the vectors' order has not changed since they have names.
std::string_view softirq_name(std::int32_t vector);

class TraceDecoder {
 public:
  // The tracepoints that it knows, in the order of event_ids().
  static const std::vector<std::string>& names();
  // Nothing when a field that it needs is missing.
  static std::optional<TraceDecoder> from(const std::map<std::string, TraceFormat>& formats);

  std::vector<std::uint64_t> event_ids() const;
  // Which of names() a record is; nothing for another event.
  std::optional<std::size_t> index_of(std::span<const std::byte> raw) const;
  std::optional<TraceEvent> decode(std::span<const std::byte> raw) const;

 private:
  struct Entry {
    std::uint64_t id = 0;
    TraceKind kind = TraceKind::sched_switch;
    TraceField from, to, from_name, to_name, state;
  };
  std::vector<Entry> entries_;
  TraceField type_, current_;
};

}  // namespace gradsync
