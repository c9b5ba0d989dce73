// Loads that code blocks of elements one by one, each with a scale of its own: a byte an element, a float a block.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>

#include "loads/cpu/cpu_load.h"
#include "loads/cpu/kernels.h"
#include "loads/parallel.h"

namespace gradsync {

class BlockLoad : public CpuLoad {
 public:
  using CpuLoad::CpuLoad;
  void reserve(Payload& payload) const override { payload.reserve(0, blocks(), n_); }

  void compress(std::span<const float> gradient, Payload& payload) final {
    payload.elements = n_;
    payload.step = step_++;
    payload.indices.resize(0);
    payload.values.resize(blocks());
    payload.codes.resize(n_);
    std::atomic<bool> finite = true;
    for_parts(n_, options_.threads, block(), [&](const Part& part) {
      for (std::int64_t begin = part.begin; begin < part.end; begin += block()) {
        const std::int64_t count = std::min(block(), part.end - begin);
        const float scale = code(gradient.data() + begin, count, begin, payload.step, payload.codes.data() + begin);
        payload.values[begin / block()] = scale;
        if (!std::isfinite(scale)) finite = false;
      }
    });
    payload.not_finite = !finite;
  }

  void decompress(std::span<const Payload* const> payloads, std::span<float> sum) final {
    for_parts(n_, options_.threads, block(), [&](const Part& part) {
      for (std::int64_t begin = part.begin; begin < part.end; begin += block()) {
        const std::int64_t count = std::min(block(), part.end - begin);
        std::memset(sum.data() + begin, 0, static_cast<std::size_t>(count) * sizeof(float));
        for (const Payload* payload : payloads)
          add(payload->codes.data() + begin, count, payload->values[begin / block()], sum.data() + begin);
      }
    });
  }

  Traffic compress_traffic() const override {
    return {4 * static_cast<double>(n_), static_cast<double>(n_ + 4 * blocks())};
  }
  Traffic decompress_traffic(std::span<const Payload* const> payloads) const override {
    return {static_cast<double>(n_ + 4 * blocks()) * static_cast<double>(payloads.size()), 4 * static_cast<double>(n_)};
  }

 protected:
  virtual std::int64_t block() const = 0;
  // Codes of one block; returns its scale, NaN when it is not finite.
  virtual float code(const float* x, std::int64_t n, std::int64_t first, std::uint64_t step, std::uint8_t* codes) = 0;
  virtual void add(const std::uint8_t* codes, std::int64_t n, float scale, float* sum) = 0;
  std::int64_t blocks() const { return (n_ + block() - 1) / block(); }

 private:
  void allocate() override {}
};

}  // namespace gradsync
