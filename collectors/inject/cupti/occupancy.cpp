#include "collectors/inject/cupti/occupancy.h"

namespace gradsync::cupti {
namespace {

constexpr uint32_t kRegisterUnit = 256;  // registers are given to a warp in these
constexpr uint32_t kPartitions = 4;      // of a multiprocessor: each has its own registers, a warp lives in one
constexpr uint32_t kUnbounded = UINT32_MAX;

uint32_t rounded_up(uint32_t value, uint32_t unit) { return (value + unit - 1) / unit * unit; }
uint32_t least(uint32_t a, uint32_t b) { return a < b ? a : b; }

uint32_t blocks_by_registers(const DeviceLimits& limits, uint32_t registers, uint32_t warps) {
  if (registers == 0) return kUnbounded;
  const uint32_t a_warp = rounded_up(registers * limits.warp_threads, kRegisterUnit);
  return limits.registers / kPartitions / a_warp * kPartitions / warps;
}

uint32_t blocks_by_shared(const DeviceLimits& limits, uint32_t bytes) {
  const uint32_t unit = limits.major >= 8 ? 128 : 256;
  const uint32_t a_block = rounded_up(bytes + limits.reserved_shared_bytes, unit);
  return a_block == 0 ? kUnbounded : limits.shared_bytes / a_block;
}

}  // namespace

uint32_t occupancy_percent(const DeviceLimits& limits, const Launch& launch) {
  const bool told = limits.warp_threads != 0 && limits.threads != 0 && limits.blocks != 0 && limits.registers != 0 &&
                    limits.shared_bytes != 0 && limits.major >= 5;
  if (!told || launch.block_threads == 0) return 0;
  const uint32_t warps = (launch.block_threads + limits.warp_threads - 1) / limits.warp_threads;
  const uint32_t most_warps = limits.threads / limits.warp_threads;
  uint32_t blocks = least(limits.blocks, most_warps / warps);
  blocks = least(blocks, blocks_by_registers(limits, launch.registers, warps));
  blocks = least(blocks, blocks_by_shared(limits, launch.shared_bytes));
  return blocks * warps * 100 / most_warps;
}

uint32_t multiprocessors_percent(const DeviceLimits& limits, uint64_t blocks) {
  if (limits.multiprocessors == 0 || blocks == 0) return 0;
  if (blocks >= limits.multiprocessors) return 100;
  const auto percent = static_cast<uint32_t>(blocks * 100 / limits.multiprocessors);
  return percent == 0 ? 1 : percent;
}

}  // namespace gradsync::cupti
