#include "collectors/inject/nccl/next_profiler.h"

#include <dlfcn.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/inject/nccl/profiler.h"
#include "collectors/inject/nccl/work.h"
#include "src/spool_writer/atomics.h"
#include "src/spool_writer/old_glibc.h"

namespace gradsync::nccl {
namespace {

enum class Loading : uint32_t { not_yet, in_progress, done };
Loading g_loading;
const void* g_tables[7];  // of the next plug-in, by version

// A path, a name for the dynamic loader, or NAME of libnccl-profiler-NAME.so: as NCCL reads the variable.
void* open_plugin(const char* value) {
  if (strcmp(value, "STATIC_PLUGIN") == 0) return dlopen(nullptr, RTLD_NOW | RTLD_LOCAL);
  if (void* library = dlopen(value, RTLD_NOW | RTLD_LOCAL)) return library;
  char name[256];
  if (strlen(value) + sizeof "libnccl-profiler-.so" > sizeof name) return nullptr;
  char* at = name;
  const char* const parts[] = {"libnccl-profiler-", value, ".so"};
  for (const char* part : parts) {
    while (*part != 0) *at++ = *part++;
  }
  *at = 0;
  return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

void load() {
  const char* value = secure_getenv("GSD_NEXT_NCCL_PROFILER");
  void* library = value == nullptr || value[0] == 0 ? nullptr : open_plugin(value);
  if (library == nullptr) return;
  char symbol[] = "ncclProfiler_v1";
  for (int version = 1; version <= 6; ++version) {
    symbol[sizeof symbol - 2] = static_cast<char>('0' + version);
    g_tables[version] = dlsym(library, symbol);
  }
  if (g_tables[1] == &ncclProfiler_v1) memset(g_tables, 0, sizeof g_tables);  // ourselves: the launcher was nested
}

void load_once() {
  constexpr int kMaxYields = 2'000'000;
  for (int i = 0; i < kMaxYields && spool::load_acquire(&g_loading) != Loading::done; ++i) {
    if (spool::replace(&g_loading, Loading::not_yet, Loading::in_progress)) {
      load();
      spool::store_release(&g_loading, Loading::done);
    }
    sched_yield();
  }
}

template <typename Table>
NextProfiler filled(int version, const void* at) {
  const auto* table = static_cast<const Table*>(at);
  return {version, table->start, table->stop, table->record, table->finalize, at};
}

}  // namespace

NextProfiler next_profiler(int version) {
  load_once();
  while (g_tables[version] == nullptr && version > 4) --version;  // their events are a part of the newer version's
  const void* table = g_tables[version];
  if (table == nullptr) return {};
  if (version < 4) return filled<ProfilerV1>(version, table);
  return version == 4 ? filled<ProfilerV4>(version, table) : filled<ProfilerV5>(version, table);
}

uint64_t initialise(const NextProfiler& next, const InitArguments& given, void** context) {
  int mask = 0;
  int refused = 1;
  if (next.version >= 5) {
    refused = static_cast<const ProfilerV5*>(next.table)
                  ->init(context, given.communicator, &mask, given.communicator_name, given.nodes, given.ranks,
                         given.rank, given.log);
  } else if (next.version == 4) {
    refused = static_cast<const ProfilerV4*>(next.table)
                  ->init(context, &mask, given.communicator_name, given.communicator, given.nodes, given.ranks,
                         given.rank, given.log);
  } else if (next.version != 0) {
    refused = static_cast<const ProfilerV1*>(next.table)->init(context, &mask);
  }
  return refused == 0 ? static_cast<uint64_t>(static_cast<unsigned>(mask)) : 0;
}

void* translated(const NextProfiler& next, int version, const void* descriptor, const Parents& parents, void* room) {
  memcpy(room, descriptor, descriptor_bytes(version));
  auto* head = static_cast<DescriptorHead*>(room);
  const uint64_t type = type_of(version, descriptor);
  const bool grouped = version >= 5 && (type == EventType::collective || type == EventType::point_to_point);
  head->parent = grouped && next.version == 4 ? parents.group : parents.parent;
  if (grouped && type == EventType::collective) static_cast<CollectiveV5*>(room)->parent_group = parents.group;
  if (grouped && type == EventType::point_to_point) static_cast<PointToPointV5*>(room)->parent_group = parents.group;
  return room;
}

}  // namespace gradsync::nccl
