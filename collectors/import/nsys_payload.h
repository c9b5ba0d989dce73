// What NCCL says about its calls in the extended payload of its NVTX ranges: message size and communicator.
//
//   NVTX_EVENTS.binaryData, little-endian:
//     0 domain u32 │ 4 - │ 8 schema u32 │ 12 - │ 16 payload's size u64 │ 24 whole size u64 │ 32 payload …
//   The payload's fields are rows of NVTX_PAYLOAD_SCHEMA_ENTRIES: name, type, offset (NULL = 0).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "collectors/import/nsys_database.h"

namespace gradsync {

struct NcclArguments {
  std::optional<std::uint64_t> bytes;         // of this rank's input
  std::optional<std::uint64_t> communicator;  // NCCL's own number of it
};

class NsysPayloads {
 public:
  explicit NsysPayloads(const NsysDatabase& database);
  // Nothing known for a payload that is too short, or of a schema that the export does not describe.
  NcclArguments decode(std::string_view binary) const;
  // The same from the column jsonText: {"Message size [bytes]": 4096, …}
  static NcclArguments decode_json(std::string_view json);

 private:
  enum class Role { bytes, communicator };
  struct Field {
    Role role;
    std::size_t width, offset;
  };
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<Field>> schemas_;  // by domain and schema
};

}  // namespace gradsync
