#include "collectors/inject/nvtx/payload_layout.h"

#include <string.h>

#include "src/spool_writer/gsd.h"

namespace gradsync::nvtx {
namespace {

struct TypeInfo {
  uint8_t bytes;  // 0 = unknown
  bool readable;
  Scalar scalar;
};

TypeInfo info_of(uint64_t type) {
  const auto integer = [](bool is_signed, size_t bytes) {
    return TypeInfo{static_cast<uint8_t>(bytes), true, is_signed ? Scalar::signed_integer : Scalar::unsigned_integer};
  };
  switch (type) {
    case EntryType::char_:
    case EntryType::int8:
      return integer(true, 1);
    case EntryType::uchar:
    case EntryType::uint8:
    case EntryType::byte:
    case EntryType::char8:
      return integer(false, 1);
    case EntryType::short_:
    case EntryType::int16:
      return integer(true, 2);
    case EntryType::ushort:
    case EntryType::uint16:
    case EntryType::char16:
      return integer(false, 2);
    case EntryType::int_:
    case EntryType::int32:
      return integer(true, 4);
    case EntryType::uint:
    case EntryType::uint32:
    case EntryType::char32:
    case EntryType::category:
    case EntryType::color_argb:
    case EntryType::pid_uint32:
    case EntryType::tid_uint32:
      return integer(false, 4);
    case EntryType::long_:
    case EntryType::longlong:
    case EntryType::int64:
      return integer(true, 8);
    case EntryType::ulong:
    case EntryType::ulonglong:
    case EntryType::uint64:
    case EntryType::size:
    case EntryType::address:
    case EntryType::scope_id:
    case EntryType::pid_uint64:
    case EntryType::tid_uint64:
      return integer(false, 8);
    case EntryType::wchar:
      return integer(true, sizeof(wchar_t));
    case EntryType::float_:
    case EntryType::float32:
    case EntryType::tf32:
      return {4, true, Scalar::float32};
    case EntryType::double_:
    case EntryType::float64:
      return {8, true, Scalar::float64};
    case EntryType::registered_string:
      return {8, true, Scalar::registered_string};
    case EntryType::cstring:
    case EntryType::cstring_utf8:
    case EntryType::cstring_utf16:
    case EntryType::cstring_utf32:
      return {8, false, Scalar::unsigned_integer};  // a pointer: following it would trust the client too far
    case EntryType::float16:
    case EntryType::bf16:
      return {2, false, Scalar::unsigned_integer};
    case EntryType::longdouble:
    case EntryType::int128:
    case EntryType::uint128:
    case EntryType::float128:
      return {16, false, Scalar::unsigned_integer};
    default:
      break;
  }
  // An id of the client's own: an enumeration (registered before or after; an int by all we know) or a nested schema,
  // whose size we do not need as long as it comes last.
  if (type >= kStaticSchemaStart) return {4, true, Scalar::enumeration};
  return {0, false, Scalar::unsigned_integer};
}

// "payload.<name>"; a floating-point value is kept as its 64 bits, which its key tells.
uint32_t key_of(const char* name, Scalar scalar) {
  constexpr char kPrefix[] = "payload.";
  constexpr char kFloat[] = ".float64";
  if (name == nullptr || name[0] == 0) return 0;
  char key[128];
  memcpy(key, kPrefix, sizeof kPrefix - 1);
  size_t length = strnlen(name, sizeof key - sizeof kPrefix - sizeof kFloat);
  memcpy(key + sizeof kPrefix - 1, name, length);
  length += sizeof kPrefix - 1;
  if (scalar == Scalar::float32 || scalar == Scalar::float64) {
    memcpy(key + length, kFloat, sizeof kFloat - 1);
    length += sizeof kFloat - 1;
  }
  return gsd_string(key, static_cast<int64_t>(length));
}

Role role_of(const char* name) {
  if (name == nullptr) return Role::plain;
  if (strcmp(name, "Message size [bytes]") == 0) return Role::message_bytes;
  if (strcmp(name, "Bytes") == 0) return Role::message_bytes;  // broadcast, send and receive before 2.25
  if (strcmp(name, "NCCL communicator ID") == 0) return Role::communicator;
  if (strcmp(name, "Reduction operation") == 0) return Role::reduction;
  return Role::plain;
}

}  // namespace

void lay_out(const SchemaAttributes& attributes, Schema& schema) {
  const uint64_t mask = attributes.field_mask;
  if ((mask & SchemaField::entries) == 0 || (mask & SchemaField::entry_count) == 0 || attributes.entries == nullptr) {
    return;
  }
  const uint64_t pack = (mask & SchemaField::alignment) != 0 ? attributes.pack_align : 0;
  uint64_t end = 0;        // of the entry before
  uint64_t alignment = 1;  // of the whole
  bool known = true;       // the layout so far
  for (size_t i = 0; i < attributes.entry_count; ++i) {
    const SchemaEntry& entry = attributes.entries[i];
    if (entry.type == EntryType::invalid) break;  // the terminator that NVTX's own macros append
    const bool pointer = (entry.flags & EntryFlag::pointer) != 0;
    const uint64_t array = entry.flags & EntryFlag::array_mask;
    const TypeInfo info = pointer ? TypeInfo{8, false, Scalar::unsigned_integer} : info_of(entry.type);
    uint64_t align = info.bytes == 0 ? 1 : info.bytes;
    if (pack != 0 && align > pack) align = pack;
    if (entry.offset != 0) {
      end = entry.offset;
      known = true;
    } else {
      end = (end + align - 1) / align * align;
    }
    if (align > alignment) alignment = align;
    if (!known || end > UINT16_MAX) continue;
    if (info.readable && array == 0 && schema.field_count < kMaxFields) {
      schema.fields[schema.field_count++] = {
          entry.type,         key_of(entry.name, info.scalar), static_cast<uint32_t>(end), info.scalar, info.bytes,
          role_of(entry.name)};
    }
    const uint64_t count = array == EntryFlag::array_fixed ? entry.array_or_union_detail : 1;
    const bool size_known = info.bytes != 0 && (array == 0 || array == EntryFlag::array_fixed || pointer);
    known = size_known && count <= UINT16_MAX;
    end += pointer ? 8 : info.bytes * (known ? count : 0);
  }
  if (known) schema.size = static_cast<uint32_t>((end + alignment - 1) / alignment * alignment);
  if ((mask & SchemaField::static_size) != 0 && attributes.static_size != 0 && attributes.static_size <= UINT16_MAX) {
    schema.size = static_cast<uint32_t>(attributes.static_size);
  }
}

}  // namespace gradsync::nvtx
