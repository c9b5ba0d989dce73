// A tracepoint's format file (tracefs, events/SYSTEM/NAME/format): its number and where its fields lie in a raw record.
//
//   name: sched_waking
//   ID: 375
//   format:
//           field:unsigned short common_type;       offset:0;       size:2; signed:0;
//           field:char comm[16];    offset:8;       size:16;        signed:0;
//           field:__data_loc char[] name;   offset:12;      size:4; signed:0;      low 16 bits: where the text begins
//
// Numbers and offsets differ between kernels. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace gradsync {

struct TraceField {
  std::uint32_t offset = 0, size = 0;
  bool located = false;  // __data_loc
};

struct TraceFormat {
  std::uint64_t id = 0;
  std::map<std::string, TraceField, std::less<>> fields;
};

std::optional<TraceFormat> parse_trace_format(std::string_view text);

// Of a raw record; nothing where it is too short. A number of 1, 2, 4 or 8 bytes, sign-extended from its size.
std::optional<std::int64_t> trace_number(std::span<const std::byte> record, const TraceField& field);
std::string_view trace_text(std::span<const std::byte> record, const TraceField& field);

}  // namespace gradsync
