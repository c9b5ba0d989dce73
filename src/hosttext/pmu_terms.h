// Events of a PMU as /sys/bus/event_source spells them: "event=0x2e,umask=0x41", with a format that says which bits of
// which word a term fills ("config:0-7,32-35"). Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace gradsync {

struct PmuConfig {
  std::uint64_t config = 0, config1 = 0, config2 = 0;
  bool operator==(const PmuConfig&) const = default;
};

// `formats`: term → text of its format file. Nothing for a term without a format, a value that does not fit its bits, or a
// text that is no list of terms. A term without a value is 1.
std::optional<PmuConfig> parse_pmu_terms(std::string_view terms, const std::map<std::string, std::string>& formats);

// "r01c2": the hexadecimal digits of a raw event.
std::optional<std::uint64_t> parse_raw_event(std::string_view name);

}  // namespace gradsync
