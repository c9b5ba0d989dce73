// Layouts of extended payloads, as clients register them, and reading values by them.
//
// Only scalars are read; arrays, nested structs and pointers are stepped over while their size is known. What a client
// says is not trusted: every read is checked against the size of the payload that arrived.
#pragma once

#include <stdint.h>

#include "collectors/inject/abi/nvtx_abi.h"

namespace gradsync::nvtx {

enum class Scalar : uint8_t { signed_integer, unsigned_integer, float32, float64, registered_string, enumeration };

// Fields that mean something to us, known by the names that NCCL gives them.
enum class Role : uint8_t { plain, message_bytes, communicator, reduction };

struct Field {
  uint64_t enum_id;  // scalar == enumeration
  uint32_t key;      // string id of "payload.<name>"
  uint32_t offset;
  Scalar scalar;
  uint8_t bytes;  // 1, 2, 4, 8
  Role role;
};

inline constexpr uint32_t kMaxFields = 16;

struct Schema {
  uint64_t id;
  uint32_t domain;
  uint32_t size;  // of the payload when the layout is fixed and known to its end, else 0
  uint32_t field_count;
  Field fields[kMaxFields];
};

// `id` is what the next tool answered, 0 without one. Returns the id that the client is to use; 0 = not kept.
uint64_t register_schema(uint32_t domain, const SchemaAttributes& attributes, uint64_t id);
uint64_t register_enum(uint32_t domain, const EnumAttributes& attributes, uint64_t id);

// The layout of a payload; null when it is unknown. Two copies of a library may register one id with different layouts
// (NCCL 2.24 and 2.25): the one whose size fits is taken.
const Schema* find_schema(uint32_t domain, const PayloadBlob& payload);

struct Value {
  bool present;
  int64_t bits;  // the integer, sign-extended; a float64's bits; a handle
};
Value read_field(const Field& field, const PayloadBlob& payload);

// String id of an enumeration's value, 0 when it has no name.
uint32_t enum_name(uint32_t domain, uint64_t enum_id, uint64_t value);

}  // namespace gradsync::nvtx
