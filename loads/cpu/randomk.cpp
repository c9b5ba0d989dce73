// randomk: K elements at places that every rank draws alike from the shared seed and the step, so that only values
// travel and an all-reduce may add them. Drawn without a permutation of n: the vector is cut into K stretches, and one
// place of each is taken.
//
//   |· · x ·|x · · ·|· · · x|       stretch j: from ⌊j n / K⌋ to ⌊(j + 1) n / K⌋
//
// Decoded values are multiplied by the length of their stretch, which makes the mean of many draws the gradient.
// R 4K floats, each from a cache line of its own (64 bytes)  W 4K.
#include <algorithm>
#include <cstring>

#include "loads/cpu/cpu_load.h"
#include "loads/cpu/select.h"
#include "loads/parallel.h"

namespace gradsync {
namespace {

class Randomk final : public CpuLoad {
 public:
  using CpuLoad::CpuLoad;
  LoadTraits traits() const override { return {.kind = LoadKind::random_selection}; }
  void reserve(Payload& payload) const override { payload.reserve(0, wanted_, 0); }

  void compress(std::span<const float> gradient, Payload& payload) override {
    payload.elements = n_;
    payload.step = step_++;
    payload.indices.resize(0);
    payload.codes.resize(0);
    payload.values.resize(wanted_);
    for_each_place(payload.step, [&](std::int64_t j, std::int64_t place, std::int64_t) {
      payload.values[j] = gradient[static_cast<std::size_t>(place)];
    });
    payload.not_finite = !all_finite(payload.values.span());
  }

  void decompress(std::span<const Payload* const> payloads, std::span<float> sum) override {
    for_parts(n_, options_.threads, 1024, [&](const Part& part) {
      std::memset(sum.data() + part.begin, 0, static_cast<std::size_t>(part.end - part.begin) * sizeof(float));
    });
    for (const Payload* payload : payloads)
      for_each_place(payload->step, [&](std::int64_t j, std::int64_t place, std::int64_t length) {
        sum[static_cast<std::size_t>(place)] += payload->values[j] * static_cast<float>(length);
      });
  }

  Traffic compress_traffic() const override { return {kLine * selected(), 4 * selected()}; }
  Traffic decompress_traffic(std::span<const Payload* const> payloads) const override {
    const double ranks = static_cast<double>(payloads.size());
    return {4 * ranks * selected() + kLine * ranks * selected(),
            4 * static_cast<double>(n_) + kLine * ranks * selected()};
  }

 private:
  static constexpr double kLine = 64;
  static constexpr std::int64_t kBatch = 256;
  double selected() const { return static_cast<double>(wanted_); }
  void allocate() override { wanted_ = selected_count(options_.ratio, n_); }

  std::int64_t start(std::int64_t j) const {
    // Both factors are below 2^32.
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(j) * static_cast<std::uint64_t>(n_) /
                                     static_cast<std::uint64_t>(wanted_));
  }

  // All places of a batch before the first is used, so that many cache lines are on their way together.
  template <class Use>
  void for_each_place(std::uint64_t step, const Use& use) const {
    for_parts(wanted_, options_.threads, kBatch, [&](const Part& part) {
      std::uint32_t words[kBatch];
      std::int64_t places[kBatch], starts[kBatch + 1];
      for (std::int64_t begin = part.begin; begin < part.end; begin += kBatch) {
        const std::int64_t count = std::min(kBatch, part.end - begin);
        kernels::draw(seed_, static_cast<std::uint64_t>(begin / 4), step, count, words);
        for (std::int64_t j = 0; j <= count; ++j) starts[j] = start(begin + j);
        for (std::int64_t j = 0; j < count; ++j) {
          const auto length = static_cast<std::uint64_t>(starts[j + 1] - starts[j]);
          places[j] = starts[j] + static_cast<std::int64_t>((std::uint64_t{words[j]} * length) >> 32);
        }
        for (std::int64_t j = 0; j < count; ++j) use(begin + j, places[j], starts[j + 1] - starts[j]);
      }
    });
  }

  std::int64_t wanted_ = 0;
};

}  // namespace

std::unique_ptr<Load> make_randomk(const LoadOptions& options) { return std::make_unique<Randomk>(options); }

}  // namespace gradsync
