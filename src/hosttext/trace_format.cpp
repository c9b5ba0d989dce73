#include "src/hosttext/trace_format.h"

#include <algorithm>
#include <cstring>

#include "src/base/text.h"
#include "src/hosttext/numbers.h"

namespace gradsync {
namespace {

// The value of "offset:8;" in a line of fields.
std::optional<std::uint32_t> value_of(std::string_view line, std::string_view key) {
  const std::size_t at = line.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = line.substr(at + key.size());
  const auto value = parse_unsigned(rest.substr(0, rest.find(';')));
  return value && *value < 65536 ? std::optional(static_cast<std::uint32_t>(*value)) : std::nullopt;
}

// "char comm[16]" → comm; "__data_loc char[] name" → name.
std::string name_of(std::string_view declaration) {
  const std::size_t space = declaration.find_last_of(" \t*");
  std::string_view name = space == std::string_view::npos ? declaration : declaration.substr(space + 1);
  return std::string(name.substr(0, name.find('[')));
}

}  // namespace

std::optional<TraceFormat> parse_trace_format(std::string_view text) {
  TraceFormat format;
  while (!text.empty()) {
    const std::size_t length = std::min(text.find('\n'), text.size());
    const std::string_view line = trim(text.substr(0, length));
    text.remove_prefix(std::min(length + 1, text.size()));
    if (line.starts_with("ID:")) format.id = parse_unsigned(trim(line.substr(3))).value_or(0);
    if (!line.starts_with("field:")) continue;
    const std::string_view declaration = line.substr(6, line.find(';') - 6);
    const auto offset = value_of(line, "offset:"), size = value_of(line, "size:");
    if (!offset || !size) return std::nullopt;
    format.fields[name_of(declaration)] = {*offset, *size, declaration.starts_with("__data_loc")};
  }
  if (format.id == 0 || format.fields.empty()) return std::nullopt;
  return format;
}

std::optional<std::int64_t> trace_number(std::span<const std::byte> record, const TraceField& field) {
  if (std::size_t{field.offset} + field.size > record.size()) return std::nullopt;
  const auto read = [&]<class Number>(Number value) {
    std::memcpy(&value, record.data() + field.offset, sizeof value);
    return static_cast<std::int64_t>(value);
  };
  switch (field.size) {
    case 1:
      return read(std::int8_t{});
    case 2:
      return read(std::int16_t{});
    case 4:
      return read(std::int32_t{});
    case 8:
      return read(std::int64_t{});
    default:
      return std::nullopt;
  }
}

std::string_view trace_text(std::span<const std::byte> record, const TraceField& field) {
  std::size_t offset = field.offset, size = field.size;
  if (field.located) {
    const auto where = trace_number(record, {field.offset, 4, false});
    if (!where) return {};
    offset = static_cast<std::size_t>(*where & 0xffff);
    size = static_cast<std::size_t>((*where >> 16) & 0xffff);
  }
  if (offset + size > record.size()) return {};
  const char* const text = reinterpret_cast<const char*>(record.data()) + offset;
  return {text, ::strnlen(text, size)};
}

}  // namespace gradsync
