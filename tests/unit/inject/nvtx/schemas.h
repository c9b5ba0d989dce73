// Layouts of payloads as a client describes them, and a process in which they can be registered.
#pragma once

#include <functional>
#include <vector>

#include "collectors/inject/abi/nvtx_abi.h"
#include "tests/unit/spool_writer/spool_probe.h"

namespace gradsync::test {

using namespace gradsync::nvtx;

inline constexpr uint64_t kUsual = SchemaField::type | SchemaField::entries | SchemaField::entry_count;

inline SchemaAttributes described(const std::vector<SchemaEntry>& entries, uint64_t id = 0, uint64_t more = 0) {
  SchemaAttributes attributes = {};
  attributes.field_mask = kUsual | more;
  if (id != 0) attributes.field_mask |= SchemaField::schema_id;
  attributes.type = kSchemaTypeStatic;
  attributes.entries = entries.data();
  attributes.entry_count = entries.size();
  attributes.schema_id = id;
  return attributes;
}

inline SchemaEntry entry(uint64_t type, const char* name, uint64_t offset = 0, uint64_t flags = 0, uint64_t count = 0) {
  return {flags, type, name, nullptr, count, offset, nullptr, nullptr};
}

// Names need the string table, which exists only in a process that records.
inline int recorded(const std::function<int()>& body) {
  const Recording recording;
  return run_writer(&recording, body);
}

}  // namespace gradsync::test
