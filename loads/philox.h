// Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC'11): random numbers as a
// function of a key and a counter, so that every rank, thread and device draws the same without sharing state.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

namespace gradsync {

using PhiloxWords = std::array<std::uint32_t, 4>;

constexpr PhiloxWords philox(std::uint64_t key, std::uint64_t low, std::uint64_t high) {
  auto key0 = static_cast<std::uint32_t>(key), key1 = static_cast<std::uint32_t>(key >> 32);
  PhiloxWords x{static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(low >> 32),
                static_cast<std::uint32_t>(high), static_cast<std::uint32_t>(high >> 32)};
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53} * x[0], b = std::uint64_t{0xCD9E8D57} * x[2];
    x = {static_cast<std::uint32_t>(b >> 32) ^ x[1] ^ key0, static_cast<std::uint32_t>(b),
         static_cast<std::uint32_t>(a >> 32) ^ x[3] ^ key1, static_cast<std::uint32_t>(a)};
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
  return x;
}

// In [0, 1), 24 bits.
constexpr float uniform(std::uint32_t word) { return static_cast<float>(word >> 8) * 0x1p-24F; }

// Standard normal numbers `4 × block` … `4 × block + 3` of a stream, by Box and Muller.
inline std::array<float, 4> normals(std::uint64_t seed, std::uint64_t block) {
  const PhiloxWords words = philox(seed, block, 0x6e6f726d);
  std::array<float, 4> out{};
  for (std::size_t i = 0; i < 4; i += 2) {
    const float radius = std::sqrt(-2.0F * std::log(1.0F - uniform(words[i])));
    const float angle = 6.283185307F * uniform(words[i + 1]);
    out[i] = radius * std::cos(angle);
    out[i + 1] = radius * std::sin(angle);
  }
  return out;
}

}  // namespace gradsync
