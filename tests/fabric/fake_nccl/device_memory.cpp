#include "tests/fabric/fake_nccl/device_memory.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <mutex>
#include <vector>

#include "tests/fabric/fake_nccl/knobs.h"

namespace fake {
namespace {

constexpr std::size_t kGuard = 64;
constexpr unsigned char kGuardByte = 0x6d;

struct Memory {
  std::mutex mutex;
  std::map<const char*, std::vector<unsigned char>> blocks;  // by what the caller sees; guards included
  std::size_t used = 0;
};

Memory& memory() {
  static Memory the_memory;
  return the_memory;
}

bool is_guard(std::vector<unsigned char>::const_iterator begin) {
  return std::all_of(begin, begin + kGuard, [](unsigned char byte) { return byte == kGuardByte; });
}

}  // namespace

void* allocate_device(std::size_t bytes) {
  const std::lock_guard lock(memory().mutex);
  if (bytes > device_bytes_total() - memory().used) return nullptr;
  std::vector<unsigned char> block(bytes + 2 * kGuard, kGuardByte);
  char* const seen = reinterpret_cast<char*>(block.data()) + kGuard;
  std::fill(seen, seen + bytes, '\x5a');  // never zero by chance
  memory().blocks.emplace(seen, std::move(block));
  memory().used += bytes;
  return seen;
}

Freed free_device(void* seen) {
  const std::lock_guard lock(memory().mutex);
  const auto at = memory().blocks.find(static_cast<char*>(seen));
  if (at == memory().blocks.end()) return Freed::unknown;
  if (!is_guard(at->second.begin()) || !is_guard(at->second.end() - kGuard)) {
    std::fputs("fake CUDA: something wrote past the end of device memory\n", stderr);
    std::abort();
  }
  memory().used -= at->second.size() - 2 * kGuard;
  memory().blocks.erase(at);
  return Freed::yes;
}

bool on_device(const void* begin, std::size_t bytes) {
  const std::lock_guard lock(memory().mutex);
  const char* const first = static_cast<const char*>(begin);
  auto at = memory().blocks.upper_bound(first);
  if (at == memory().blocks.begin()) return false;
  --at;
  const std::size_t size = at->second.size() - 2 * kGuard;
  const auto offset = static_cast<std::size_t>(first - at->first);
  return offset <= size && bytes <= size - offset;
}

std::size_t device_bytes_total() {
  return static_cast<std::size_t>(knob("GSD_FAKE_CUDA_MEMORY", std::int64_t{1} << 30));
}

std::size_t device_bytes_free() {
  const std::lock_guard lock(memory().mutex);
  return device_bytes_total() - memory().used;
}

}  // namespace fake
