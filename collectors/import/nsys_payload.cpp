#include "collectors/import/nsys_payload.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace gradsync {
namespace {

constexpr std::string_view kBytes = "Message size [bytes]";
constexpr std::string_view kCommunicator = "NCCL communicator ID";
constexpr std::size_t kHeaderBytes = 32;
constexpr std::size_t kMostSchemas = 4096;

// Numbers of nvtxPayloadSchemaEntry_t.type for whole numbers on 64-bit Linux; 0 = another type.
std::size_t width_of(std::int64_t type) {
  constexpr std::array<std::int64_t, 7> eight{7, 8, 9, 10, 17, 18, 22};  // long, long long, int64, size_t
  constexpr std::array<std::int64_t, 4> four{5, 6, 15, 16};              // int, int32
  if (std::find(eight.begin(), eight.end(), type) != eight.end()) return 8;
  return std::find(four.begin(), four.end(), type) != four.end() ? 4 : 0;
}

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i > 0; --i) value = value << 8 | static_cast<unsigned char>(bytes[i - 1]);
  return value;
}

std::optional<std::uint64_t> number_behind(std::string_view json, std::string_view key) {
  std::size_t at = json.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  at = json.find_first_not_of("\": \t", at + key.size());
  if (at == std::string_view::npos) return std::nullopt;
  std::uint64_t value = 0;
  const auto parsed = std::from_chars(json.data() + at, json.data() + json.size(), value);
  return parsed.ec == std::errc{} ? std::optional(value) : std::nullopt;
}

}  // namespace

NsysPayloads::NsysPayloads(const NsysDatabase& database) {
  constexpr std::array<std::string_view, 5> columns{"domainId", "schemaId", "type", "name", "offset"};
  NsysRows rows = database.rows("NVTX_PAYLOAD_SCHEMA_ENTRIES", columns);
  while (rows.next()) {
    const std::size_t width = width_of(rows.integer(2).value_or(0));
    const std::string_view name = rows.text(3);
    const std::int64_t offset = rows.integer(4).value_or(0);
    if (width == 0 || (name != kBytes && name != kCommunicator) || offset < 0 || schemas_.size() > kMostSchemas)
      continue;
    std::vector<Field>& fields = schemas_[{static_cast<std::uint64_t>(rows.integer(0).value_or(0)),
                                           static_cast<std::uint64_t>(rows.integer(1).value_or(0))}];
    // Each process registers its schemas: the same rows stand there again and again.
    const Role role = name == kBytes ? Role::bytes : Role::communicator;
    if (std::none_of(fields.begin(), fields.end(), [role](const Field& field) { return field.role == role; }))
      fields.push_back({role, width, static_cast<std::size_t>(offset)});
  }
}

NcclArguments NsysPayloads::decode(std::string_view binary) const {
  NcclArguments arguments;
  if (binary.size() < kHeaderBytes) return arguments;
  const auto schema = schemas_.find({little_endian(binary.substr(0, 4)), little_endian(binary.substr(8, 4))});
  if (schema == schemas_.end()) return arguments;
  const std::string_view payload = binary.substr(kHeaderBytes);
  for (const Field& field : schema->second) {
    if (field.offset > payload.size() || payload.size() - field.offset < field.width) continue;
    (field.role == Role::bytes ? arguments.bytes : arguments.communicator) =
        little_endian(payload.substr(field.offset, field.width));
  }
  return arguments;
}

NcclArguments NsysPayloads::decode_json(std::string_view json) {
  return {number_behind(json, kBytes), number_behind(json, kCommunicator)};
}

}  // namespace gradsync
