#include "collectors/inject/nccl/calls.h"

#include <string.h>

#include "collectors/inject/abi/nccl_abi.h"
#include "src/spool_writer/atomics.h"
#include "src/spool_writer/gsd.h"

namespace gradsync::nccl {
namespace {

// Ranks issue the collectives of a communicator in one order, so the number of a call finds the same call on the other
// ranks. Sends and receives have no such order.
enum class Order : uint8_t { of_communicator, none };

struct Call {
  const char* range_name;
  const char* name;
  Order order;
};

constexpr Call kCalls[] = {
    {"", "", Order::none},
    {"ncclAllReduce", "all_reduce", Order::of_communicator},
    {"ncclAllGather", "all_gather", Order::of_communicator},
    {"ncclReduceScatter", "reduce_scatter", Order::of_communicator},
    {"ncclBroadcast", "broadcast", Order::of_communicator},
    {"ncclBcast", "broadcast", Order::of_communicator},
    {"ncclReduce", "reduce", Order::of_communicator},
    {"ncclAlltoAll", "all_to_all", Order::of_communicator},
    {"ncclAllToAll", "all_to_all", Order::of_communicator},
    {"ncclGather", "gather", Order::of_communicator},
    {"ncclScatter", "scatter", Order::of_communicator},
    {"ncclSend", "send", Order::none},
    {"ncclRecv", "recv", Order::none},
};
constexpr uint32_t kCallCount = sizeof kCalls / sizeof kCalls[0];

uint32_t g_names[kCallCount];  // string ids, interned at the first use

uint32_t g_reductions[kReductions + 1];

struct Communicator {
  uint64_t hash;
  uint32_t group;
  uint32_t calls;
};
constexpr uint32_t kCommunicators = 1024;  // a power of two; further ones keep their name and get no numbers
Communicator g_communicators[kCommunicators];

uint32_t interned(uint32_t* kept, const char* text) {
  uint32_t id = spool::load_relaxed(kept);
  if (id == 0) spool::store_relaxed(kept, id = gsd_string(text, -1));
  return id;
}

Communicator* find_communicator(uint64_t hash) {
  for (uint32_t probe = 0; probe < 64; ++probe) {
    Communicator* slot = &g_communicators[((hash * 0x9e3779b97f4a7c15u >> 32) + probe) % kCommunicators];
    const uint64_t seen = spool::load_acquire(&slot->hash);
    if (seen == hash || (seen == 0 && spool::replace(&slot->hash, uint64_t{0}, hash))) return slot;
    if (spool::load_acquire(&slot->hash) == hash) return slot;
  }
  return nullptr;
}

}  // namespace

uint32_t reduction_name(uint64_t operation) {
  const uint32_t index = operation < kReductions ? static_cast<uint32_t>(operation) : kReductions;
  return interned(&g_reductions[index], index < kReductions ? kReductionNames[index] : "user");
}

uint32_t call_name(uint32_t call) { return interned(&g_names[call], kCalls[call].name); }

bool has_order(uint32_t call) { return kCalls[call].order == Order::of_communicator; }

uint32_t* calls_of(uint64_t communicator) {
  Communicator* known = communicator == 0 ? nullptr : find_communicator(communicator);
  return known == nullptr ? nullptr : &known->calls;
}

uint32_t call_of(const char* range_name) {
  for (uint32_t call = 1; range_name != nullptr && call < kCallCount; ++call) {
    if (strcmp(range_name, kCalls[call].range_name) == 0) return call;
  }
  return 0;
}

uint32_t call_of_word(const char* function) {
  constexpr uint32_t kPrefix = 4;  // "nccl"
  for (uint32_t call = 1; function != nullptr && call < kCallCount; ++call) {
    if (strcmp(function, kCalls[call].range_name + kPrefix) == 0) return call;
  }
  return 0;
}

uint32_t communicator_name(uint64_t hash) {
  if (hash == 0) return 0;
  Communicator* known = find_communicator(hash);
  if (known != nullptr && spool::load_relaxed(&known->group) != 0) return spool::load_relaxed(&known->group);
  char text[16];
  for (int i = 0; i < 16; ++i) text[i] = "0123456789abcdef"[hash >> (60 - 4 * i) & 0xf];
  const uint32_t group = gsd_string(text, 16);
  if (known != nullptr) spool::store_relaxed(&known->group, group);
  return group;
}

}  // namespace gradsync::nccl
