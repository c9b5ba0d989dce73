#include "collectors/inject/nccl/labels.h"

#include "collectors/inject/side_map.h"

namespace gradsync::nccl {
namespace {

uint64_t address_of(Comm comm) { return reinterpret_cast<uint64_t>(comm); }

SideMap<1024> g_labels;     // communicator → label
SideMap<1024> g_splits;     // label → splits so far
uint32_t g_generation = 1;  // a thread that has seen none has 0

void give_label(Comm comm, uint64_t label) {
  g_labels.put(address_of(comm), label);
  spool::add_relaxed(&g_generation, 1u);
}

uint64_t mixed(uint64_t hash, const void* bytes, size_t count) {
  const auto* next = static_cast<const unsigned char*>(bytes);
  for (size_t i = 0; i < count; ++i) hash = (hash ^ next[i]) * 0x100000001b3u;  // FNV-1a
  return hash;
}

constexpr uint64_t kStart = 0xcbf29ce484222325u;

}  // namespace

uint32_t label_generation() { return spool::load_relaxed(&g_generation); }

uint64_t label_of(Comm comm) { return g_labels.get(address_of(comm)); }

void label_from_ids(Comm comm, const UniqueId* ids, int count) {
  uint64_t label = kStart;
  for (int i = 0; i < count; ++i) label = mixed(label, ids[i].bytes, sizeof ids[i].bytes);
  give_label(comm, label);
}

void label_from_split(Comm made, uint64_t parent, int color) {
  if (parent == 0) return forget_label(made);
  const uint64_t number = g_splits.get(parent);
  g_splits.put(parent, number + 1);
  const uint64_t parts[] = {parent, number, static_cast<uint64_t>(static_cast<int64_t>(color))};
  give_label(made, mixed(kStart, parts, sizeof parts));
}

void forget_label(Comm comm) {
  g_labels.take(address_of(comm));
  spool::add_relaxed(&g_generation, 1u);
}

}  // namespace gradsync::nccl
