// The part of NVTX 3's binary interface that a tool needs, declared here so that nothing is switched off on a machine
// without the vendor's headers. tests/unit/inject/nvtx_abi_test.cpp compares it with <nvtx3/…> where that exists.
//
// How a tool attaches: every client library holds its own copy of the NVTX code. On its first NVTX call that copy loads
// NVTX_INJECTION64_PATH and calls InitializeInjectionNvtx2 with a getter for its export tables; the tool writes its
// callbacks into the client's slots. A slot that stays as it was becomes a no-op. The payload extension attaches the
// same way, later, through InitializeInjectionNvtxExtension. Several clients mean several calls.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

namespace gradsync::nvtx {

using Callback = void (*)();
using DomainHandle = void*;
using StringHandle = void*;

inline constexpr uint32_t kTableCallbacks = 1, kTableVersion = 3;
inline constexpr uint32_t kModuleCore = 1, kModuleCore2 = 5;

struct CallbacksTable {
  size_t struct_size;
  int (*get_module_function_table)(uint32_t module, Callback*** table, unsigned int* slots);
};

struct VersionTable {
  size_t struct_size;
  uint32_t version;
  uint32_t reserved;
  void (*set_injection_version)(uint32_t version);
};

using GetExportTable = const void* (*)(uint32_t table);
using InitializeInjection = int (*)(GetExportTable);

struct CoreSlot {
  enum : uint32_t {
    mark_ex = 1,
    mark_a,
    mark_w,
    range_start_ex,
    range_start_a,
    range_start_w,
    range_end,
    range_push_ex,
    range_push_a,
    range_push_w,
    range_pop,
    name_category_a,
    name_category_w,
    name_os_thread_a,
    name_os_thread_w,
    count
  };
};

struct DomainSlot {
  enum : uint32_t {
    mark_ex = 1,
    range_start_ex,
    range_end,
    range_push_ex,
    range_pop,
    resource_create,
    resource_destroy,
    name_category_a,
    name_category_w,
    register_string_a,
    register_string_w,
    create_a,
    create_w,
    destroy,
    initialize,
    count
  };
};

enum class MessageType : int32_t { none = 0, ascii = 1, wide = 2, registered = 3 };

enum class PayloadType : int32_t {
  none = 0,
  unsigned_int64 = 1,
  int64 = 2,
  float64 = 3,
  unsigned_int32 = 4,
  int32 = 5,
  float32 = 6,
  extended = static_cast<int32_t>(0xDFBD0009),  // payload_count × PayloadBlob, on the caller's stack
};

struct EventAttributes {
  uint16_t version;
  uint16_t size;
  uint32_t category;
  int32_t color_type;
  uint32_t color;
  PayloadType payload_type;
  int32_t payload_count;
  union {
    uint64_t unsigned_int64;
    int64_t int64;
    double float64;
    uint32_t unsigned_int32;
    int32_t int32;
    float float32;
  } payload;
  MessageType message_type;
  union {
    const char* ascii;
    const wchar_t* wide;
    StringHandle registered;
  } message;
};

// ---- payload extension --------------------------------------------------------------------------------------------

struct ExtensionSegment {
  size_t id;
  size_t slot_count;
  intptr_t* slots;
};

struct ExtensionModule {
  uint16_t nvtx_version;
  uint16_t struct_size;
  uint16_t module_id;
  uint16_t compat_id;
  size_t segment_count;
  ExtensionSegment* segments;
  intptr_t (*get_export_function)(uint32_t id);
  const void* info;
};

using InitializeExtension = int (*)(ExtensionModule*);

inline constexpr uint16_t kPayloadModule = 2;
inline constexpr uint16_t kPayloadCompat103 = 0x0103;  // NCCL up to 2.28 and more
inline constexpr uint16_t kPayloadCompat104 = 0x0104;  // CUDA 13; the structs below only grew at their ends

struct PayloadSlot {
  enum : uint32_t { schema_register = 0, enum_register = 1 };
};

struct PayloadBlob {
  uint64_t schema_id;
  size_t size;  // SIZE_MAX = as the schema says
  const void* bytes;
};

// What a schema entry holds; scalars only, other types are skipped by size or end the layout.
struct EntryType {
  enum : uint64_t {
    invalid = 0,
    char_ = 1,
    uchar,
    short_,
    ushort,
    int_,
    uint,
    long_,
    ulong,
    longlong,
    ulonglong,
    int8,
    uint8,
    int16,
    uint16,
    int32,
    uint32,
    int64,
    uint64,
    float_,
    double_,
    longdouble,
    size,
    address,
    wchar,
    char8,
    char16,
    char32,
    byte = 32,
    int128 = 33,
    uint128 = 34,
    float16 = 42,
    float32 = 43,
    float64 = 44,
    float128 = 45,
    bf16 = 50,
    tf32 = 52,
    category = 68,
    color_argb = 69,
    scope_id = 70,
    pid_uint32 = 71,
    pid_uint64 = 72,
    tid_uint32 = 73,
    tid_uint64 = 74,
    cstring = 75,
    cstring_utf8 = 76,
    cstring_utf16 = 77,
    cstring_utf32 = 78,
    registered_string = 80
  };
};
inline constexpr uint64_t kStaticSchemaStart = uint64_t{1} << 24;   // ids chosen by the client
inline constexpr uint64_t kDynamicSchemaStart = uint64_t{1} << 32;  // ids chosen by the tool

struct EntryFlag {
  enum : uint64_t { pointer = 1 << 1, array_mask = 7 << 4, array_fixed = 1 << 4 };
};

struct SchemaEntry {
  uint64_t flags;
  uint64_t type;
  const char* name;
  const char* description;
  uint64_t array_or_union_detail;
  uint64_t offset;
  const void* semantics;
  const void* reserved;
};

struct SchemaField {
  enum : uint64_t {
    name = 1 << 1,
    type = 1 << 2,
    flags = 1 << 3,
    entries = 1 << 4,
    entry_count = 1 << 5,
    static_size = 1 << 6,
    alignment = 1 << 7,
    schema_id = 1 << 8
  };
};
inline constexpr uint64_t kSchemaTypeStatic = 1;

struct SchemaAttributes {
  uint64_t field_mask;
  const char* name;
  uint64_t type;
  uint64_t flags;
  const SchemaEntry* entries;
  size_t entry_count;
  size_t static_size;
  size_t pack_align;
  uint64_t schema_id;
};

struct EnumEntry {
  const char* name;
  uint64_t value;
  int8_t is_flag;
};

struct EnumField {
  enum : uint64_t { name = 1 << 1, entries = 1 << 2, entry_count = 1 << 3, size = 1 << 4, schema_id = 1 << 5 };
};

struct EnumAttributes {
  uint64_t field_mask;
  const char* name;
  const EnumEntry* entries;
  size_t entry_count;
  size_t size;
  uint64_t schema_id;
};

}  // namespace gradsync::nvtx
