#include "src/commands/measure_loads.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <stdexcept>

#include "loads/cpu/cpu_load.h"

using namespace gradsync;

namespace {

LoadEntry named(const std::string& algorithm) {
  const auto& loads = cpu_loads();
  return *std::find_if(loads.begin(), loads.end(), [&](const LoadEntry& e) { return e.algorithm == algorithm; });
}

// Says that it is exact, and is not.
class Boastful final : public Load {
 public:
  explicit Boastful(const LoadOptions& options) : load_(make_dgc(options)) {}
  LoadTraits traits() const override { return {.kind = LoadKind::exact_selection}; }
  Result<void> prepare(std::int64_t elements, std::uint64_t seed) override { return load_->prepare(elements, seed); }
  void reserve(Payload& payload) const override { load_->reserve(payload); }
  void compress(std::span<const float> gradient, Payload& payload) override { load_->compress(gradient, payload); }
  void decompress(std::span<const Payload* const> payloads, std::span<float> sum) override {
    load_->decompress(payloads, sum);
  }
  Traffic compress_traffic() const override { return load_->compress_traffic(); }
  Traffic decompress_traffic(std::span<const Payload* const> payloads) const override {
    return load_->decompress_traffic(payloads);
  }

 private:
  std::unique_ptr<Load> load_;
};

// On a device with a clock of its own, which fails when it decompresses the payloads of five ranks.
class Remote final : public Load {
 public:
  explicit Remote(const LoadOptions& options) : load_(make_cast16(options)) {}
  LoadTraits traits() const override { return load_->traits(); }
  Result<void> prepare(std::int64_t elements, std::uint64_t seed) override { return load_->prepare(elements, seed); }
  void reserve(Payload& payload) const override { load_->reserve(payload); }
  void compress(std::span<const float> gradient, Payload& payload) override {
    load_->compress(gradient, payload);
    seconds_ = 0.25;
  }
  void decompress(std::span<const Payload* const> payloads, std::span<float> sum) override {
    if (payloads.size() == 5) throw std::runtime_error("serve: an illegal memory access was encountered");
    load_->decompress(payloads, sum);
    seconds_ = 0.125;
  }
  Traffic compress_traffic() const override { return load_->compress_traffic(); }
  Traffic decompress_traffic(std::span<const Payload* const> payloads) const override {
    return load_->decompress_traffic(payloads);
  }
  std::optional<double> seconds() const override { return seconds_; }

 private:
  std::unique_ptr<Load> load_;
  std::optional<double> seconds_;
};

const LoadEntry kRemote{"remote", "", [](const LoadOptions& options) -> std::unique_ptr<Load> {
                          return std::make_unique<Remote>(options);
                        }};

}  // namespace

TEST_CASE("where the device has a clock, that tells the times") {
  const auto result =
      measure_loads({.sizes = {{1000, 1}}, .library = &cpu_load_library(), .loads = {kRemote}, .repeats = 2});
  REQUIRE(result);
  CHECK(result->rows[0].compress_ms.p50 == 250);
  CHECK(result->rows[0].decompress_ms.p50 == 125);
}

TEST_CASE("a device that fails is an error with its own words") {
  const auto result = measure_loads(
      {.sizes = {{1000, 1}}, .library = &cpu_load_library(), .loads = {kRemote}, .repeats = 2, .ranks = 5});
  REQUIRE_FALSE(result);
  CHECK(result.error().message() == "cannot measure loads on cpu: serve: an illegal memory access was encountered");
}

TEST_CASE("every load and size is measured, in order, and found sound") {
  const BenchPlan plan{.sizes = {{1000, 1}, {70'000, 2}},
                       .library = &cpu_load_library(),
                       .loads = {named("topk_histogram"), named("scatter")},
                       .repeats = 3};
  const auto result = measure_loads(plan);
  REQUIRE(result);
  REQUIRE(result->rows.size() == 4);
  CHECK(result->rows[3].algorithm == "scatter");
  CHECK(result->rows[3].size.elements == 70'000);
  CHECK(result->rows[3].compress_ms.n == 3);
  CHECK(result->rows[3].wire_bytes >= 8 * 700);
  CHECK(result->rows[3].wire_bytes <= 8 * 875);
  CHECK(result->rows[3].cosine == doctest::Approx(0.3).epsilon(0.1));
  CHECK(result->bandwidth.read > 0);
  CHECK(result->failed() == 0);
}

TEST_CASE("a load that is not what it says fails its checks") {
  const LoadEntry boastful{"boastful", "", [](const LoadOptions& options) -> std::unique_ptr<Load> {
                             return std::make_unique<Boastful>(options);
                           }};
  const auto result =
      measure_loads({.sizes = {{70'000, 1}}, .library = &cpu_load_library(), .loads = {boastful}, .repeats = 1});
  REQUIRE(result);
  CHECK(result->failed() > 0);
}

TEST_CASE("more memory than there is is an error, not an attempt") {
  const auto result = measure_loads(
      {.sizes = {{4'000'000'000, 1}}, .library = &cpu_load_library(), .loads = {named("cast16")}, .ranks = 1000});
  REQUIRE_FALSE(result);
  CHECK(result.error().why.find("memory") != std::string::npos);
  CHECK(result.error().hint == "choose a smaller --n");
}
