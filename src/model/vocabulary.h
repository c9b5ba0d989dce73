// The enumerations of events. The numbers are those of the spool format (static_assert in the reader).
#pragma once

#include <cstdint>
#include <string_view>

namespace gradsync {

enum class Kind : std::uint8_t {
  empty = 0,
  step = 4,
  range = 5,
  collective = 6,
  wait = 7,
  host_sync = 8,
  host_call = 9,
  kernel = 10,
  copy = 11,
  memset = 12,
  sched_wait = 13,
  irq = 14,
  softirq = 15,
  loss = 16,
  mark = 17,
  window = 18,
};

enum class Phase : std::uint8_t { none = 0, forward, backward, optimizer, data, compress, decompress };

enum class Source : std::uint8_t {
  unknown = 0,
  torch_hook,
  nvtx,
  nccl_nvtx,
  profiler,
  cupti,
  host,
  doctor,
  ddp_logger,
  nccl_wrapper,
  nccl_plugin,
};

// Seen by a profiler, of the framework or of the device: what is on streams there did run then.
constexpr bool of_device(Source source) { return source == Source::profiler || source == Source::cupti; }

inline constexpr std::uint8_t kFlagDeep = 1;
inline constexpr std::uint8_t kFlagExtrapolated = 2;
inline constexpr std::uint8_t kFlagAsync = 4;
inline constexpr std::uint8_t kFlagInHook = 8;

// Plain words for reports and text recordings; the inverse answers empty/none/unknown for a word it does not know.
std::string_view to_string(Kind kind);
std::string_view to_string(Phase phase);
std::string_view to_string(Source source);
Kind kind_from(std::string_view word);
Phase phase_from(std::string_view word);

}  // namespace gradsync
