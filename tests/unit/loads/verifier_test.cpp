// The verifier itself: loads that do almost what they say must be caught, each by the check that is meant for it.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <set>

#include "loads/library.h"
#include "loads/verify.h"

using namespace gradsync;

namespace {

// A load with a fault: something is done to every payload, or to what is decoded.
struct Fault {
  std::function<void(Payload&, std::uint64_t step)> payload = [](Payload&, std::uint64_t) {};
  std::function<void(std::span<float>)> decoded = [](std::span<float>) {};
};

class Faulty final : public Load {
 public:
  Faulty(std::unique_ptr<Load> load, Fault fault) : load_(std::move(load)), fault_(std::move(fault)) {}
  LoadTraits traits() const override { return load_->traits(); }
  Result<void> prepare(std::int64_t elements, std::uint64_t seed) override { return load_->prepare(elements, seed); }
  void reserve(Payload& payload) const override { load_->reserve(payload); }
  void compress(std::span<const float> gradient, Payload& payload) override {
    load_->compress(gradient, payload);
    fault_.payload(payload, step_++);
  }
  void decompress(std::span<const Payload* const> payloads, std::span<float> sum) override {
    load_->decompress(payloads, sum);
    fault_.decoded(sum);
  }
  Traffic compress_traffic() const override { return load_->compress_traffic(); }
  Traffic decompress_traffic(std::span<const Payload* const> payloads) const override {
    return load_->decompress_traffic(payloads);
  }
  std::span<const float> residual() const override { return load_->residual(); }

 private:
  std::unique_ptr<Load> load_;
  Fault fault_;
  std::uint64_t step_ = 0;
};

std::set<std::string> failed(const std::string& algorithm, const Fault& fault) {
  const auto& loads = cpu_loads();
  const auto entry = std::find_if(loads.begin(), loads.end(), [&](const auto& e) { return e.algorithm == algorithm; });
  std::set<std::string> ids;
  for (const Check& check :
       verify([&](const LoadOptions& options) { return std::make_unique<Faulty>(entry->make(options), fault); }, {}))
    if (!check.passed) {
      ids.insert(check.id);
      CHECK(check.measured != "");
    }
  return ids;
}

void drop_last(Payload& payload, std::uint64_t) {
  payload.indices.resize(std::max<std::int64_t>(0, payload.indices.size() - 1));
  payload.values.resize(payload.indices.size());
}

}  // namespace

TEST_CASE("a load that does what it says is found sound") {
  CHECK(failed("topk_select", {}).empty());
  CHECK(failed("qsgd", {}).empty());
}

TEST_CASE("each fault is caught by the check that is meant for it") {
  SUBCASE("one entry is missing") { CHECK(failed("topk_select", {.payload = drop_last}).contains("V2")); }
  SUBCASE("an entry is the neighbour of the right one") {
    const auto shift = [](Payload& payload, std::uint64_t) {
      if (payload.indices.size() > 0 && payload.indices[0] > 0) --payload.indices[0];
    };
    CHECK(failed("topk_histogram", {.payload = shift}).contains("V2"));
  }
  SUBCASE("a value is rounded") {
    const auto round = [](Payload& payload, std::uint64_t) {
      if (payload.values.size() > 0) payload.values[0] *= 1.01F;
    };
    CHECK(failed("topk_sort", {.payload = round}).contains("V2"));
    CHECK(failed("onebit_ef", {.payload = round}).contains("V1"));
  }
  SUBCASE("signs in another order of bits") {
    const auto swap = [](Payload& payload, std::uint64_t) {
      for (std::uint8_t& byte : payload.codes.span()) byte = static_cast<std::uint8_t>(byte << 4 | byte >> 4);
    };
    const auto ids = failed("onebit_ef", {.payload = swap});
    CHECK(ids.contains("V3"));
    CHECK(ids.contains("V6"));
  }
  SUBCASE("what is not finite is kept secret") {
    const auto hide = [](Payload& payload, std::uint64_t) { payload.not_finite = false; };
    CHECK(failed("cast8", {.payload = hide}).contains("V3"));
  }
  SUBCASE("a little too large on average") {
    const auto scale = [](std::span<float> decoded) {
      for (float& value : decoded) value *= 1.03F;
    };
    CHECK(failed("qsgd", {.decoded = scale}).contains("V5"));
    const auto much = [](std::span<float> decoded) {
      for (float& value : decoded) value *= 1.2F;
    };
    CHECK(failed("randomk", {.decoded = much}).contains("V5"));  // its draws differ more
    CHECK(failed("topk_select", {.decoded = scale}).contains("V4"));
    CHECK(failed("powersgd", {.decoded = scale}).contains("V7"));
    CHECK(failed("cast16", {.decoded = scale}).contains("V3"));
  }
  SUBCASE("the last element is forgotten") {
    const auto forget = [](std::span<float> decoded) {
      if (!decoded.empty()) decoded.back() = 77;
    };
    CHECK(failed("scatter", {.decoded = forget}).contains("V3"));
    CHECK(failed("param_server", {.decoded = forget}).contains("V3"));
  }
  SUBCASE("another result on another day") {
    int calls = 0;
    const auto drift = [&calls](Payload& payload, std::uint64_t) {
      if (payload.values.size() > 0) payload.values[0] += 1e-6F * static_cast<float>(++calls);
    };
    CHECK(failed("randomk", {.payload = drift}).contains("V9"));
  }
}
