#include "collectors/inject/nvtx/payload_schema.h"

#include <string.h>

#include "collectors/inject/nvtx/payload_layout.h"
#include "src/spool_writer/atomics.h"
#include "src/spool_writer/gsd.h"

namespace gradsync::nvtx {
namespace {

constexpr uint32_t kMaxSchemas = 512;
constexpr uint32_t kMaxEnums = 64;
constexpr uint32_t kMaxEnumEntries = 32;

struct Enumeration {
  uint64_t id;
  uint32_t domain;
  uint32_t entry_count;
  struct {
    uint64_t value;
    uint32_t name;
  } entries[kMaxEnumEntries];
};

// Registration is rare and appends; a reader sees an entry once its slot says so.
template <typename Entry, uint32_t kSlots>
struct Registry {
  Entry entries[kSlots];
  uint32_t taken;
  uint8_t ready[kSlots];

  Entry* reserve() {
    if (spool::load_relaxed(&taken) >= kSlots) return nullptr;
    const uint32_t index = spool::add_relaxed(&taken, 1u);
    return index < kSlots ? &entries[index] : nullptr;
  }
  void publish(Entry* entry) { spool::store_release(&ready[entry - entries], uint8_t{1}); }
  uint32_t count() const {
    const uint32_t seen = spool::load_acquire(&taken);
    return seen < kSlots ? seen : kSlots;
  }
  bool holds(uint32_t index, uint32_t domain, uint64_t id) const {
    return spool::load_acquire(&ready[index]) != 0 && entries[index].id == id && entries[index].domain == domain;
  }
};

Registry<Schema, kMaxSchemas> g_schemas;
Registry<Enumeration, kMaxEnums> g_enums;
uint64_t g_dynamic_ids = kDynamicSchemaStart;

uint64_t choose_id(uint64_t from_next_tool, bool client_chose, uint64_t clients) {
  if (from_next_tool != 0) return from_next_tool;
  return client_chose && clients != 0 ? clients : spool::add_relaxed(&g_dynamic_ids, uint64_t{1});
}

bool same_layout(const Schema& a, const Schema& b) {
  if (a.size != b.size || a.field_count != b.field_count) return false;
  for (uint32_t i = 0; i < a.field_count; ++i) {
    if (a.fields[i].offset != b.fields[i].offset || a.fields[i].key != b.fields[i].key) return false;
  }
  return true;
}

}  // namespace

uint64_t register_schema(uint32_t domain, const SchemaAttributes& attributes, uint64_t id) {
  const uint64_t given = (attributes.field_mask & SchemaField::schema_id) != 0 ? attributes.schema_id : 0;
  id = choose_id(id, given != 0, given);
  Schema schema = {};
  schema.id = id;
  schema.domain = domain;
  lay_out(attributes, schema);
  for (uint32_t i = 0; i < g_schemas.count(); ++i) {
    if (g_schemas.holds(i, domain, id) && same_layout(g_schemas.entries[i], schema)) return id;
  }
  Schema* kept = g_schemas.reserve();
  if (kept == nullptr) return id;
  *kept = schema;
  g_schemas.publish(kept);
  return id;
}

uint64_t register_enum(uint32_t domain, const EnumAttributes& attributes, uint64_t id) {
  const uint64_t given = (attributes.field_mask & EnumField::schema_id) != 0 ? attributes.schema_id : 0;
  id = choose_id(id, given != 0, given);
  if ((attributes.field_mask & EnumField::entries) == 0 || attributes.entries == nullptr) return id;
  for (uint32_t i = 0; i < g_enums.count(); ++i) {
    if (g_enums.holds(i, domain, id)) return id;
  }
  Enumeration* kept = g_enums.reserve();
  if (kept == nullptr) return id;
  kept->id = id;
  kept->domain = domain;
  const size_t count = attributes.entry_count < kMaxEnumEntries ? attributes.entry_count : kMaxEnumEntries;
  for (size_t i = 0; i < count; ++i) {
    const EnumEntry& entry = attributes.entries[i];
    kept->entries[i] = {entry.value, entry.name == nullptr ? 0 : gsd_string(entry.name, -1)};
  }
  kept->entry_count = static_cast<uint32_t>(count);
  g_enums.publish(kept);
  return id;
}

const Schema* find_schema(uint32_t domain, const PayloadBlob& payload) {
  const Schema* fallback = nullptr;
  for (uint32_t i = 0; i < g_schemas.count(); ++i) {
    if (!g_schemas.holds(i, domain, payload.schema_id)) continue;
    if (g_schemas.entries[i].size == payload.size || payload.size == SIZE_MAX) return &g_schemas.entries[i];
    fallback = &g_schemas.entries[i];
  }
  return fallback;
}

Value read_field(const Field& field, const PayloadBlob& payload) {
  if (payload.bytes == nullptr || uint64_t{field.offset} + field.bytes > payload.size) return {false, 0};
  const char* from = static_cast<const char*>(payload.bytes) + field.offset;
  uint64_t bits = 0;
  memcpy(&bits, from, field.bytes);  // little-endian machines only, which is all that NVTX and NCCL run on
  if (field.scalar == Scalar::float32) {
    float value;
    memcpy(&value, from, sizeof value);
    const double wide = value;
    memcpy(&bits, &wide, sizeof bits);
  } else if (field.scalar == Scalar::signed_integer && field.bytes < 8) {
    const int unused = 64 - 8 * field.bytes;
    return {true, static_cast<int64_t>(bits << unused) >> unused};
  }
  return {true, static_cast<int64_t>(bits)};
}

uint32_t enum_name(uint32_t domain, uint64_t enum_id, uint64_t value) {
  for (uint32_t i = 0; i < g_enums.count(); ++i) {
    if (!g_enums.holds(i, domain, enum_id)) continue;
    for (uint32_t k = 0; k < g_enums.entries[i].entry_count; ++k) {
      if (g_enums.entries[i].entries[k].value == value) return g_enums.entries[i].entries[k].name;
    }
  }
  return 0;
}

}  // namespace gradsync::nvtx
