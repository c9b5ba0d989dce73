#include "collectors/fabric/pattern.h"

#include <doctest/doctest.h>

#include <cstring>
#include <map>

using namespace gradsync;

namespace {

using Bytes = std::vector<std::byte>;

float half_value(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const float fraction = static_cast<float>(bits & 0x3ff);
  if (exponent == 0) return fraction / (1 << 24);
  return (1024 + fraction) * static_cast<float>(1 << exponent) / (1 << 25);
}

double element(const Bytes& bytes, ElementType type, std::int64_t index) {
  const std::byte* at = bytes.data() + index * size_of(type);
  if (type == ElementType::int8) return static_cast<double>(std::to_integer<std::int8_t>(*at));
  if (type == ElementType::float16) {
    std::uint16_t bits;
    std::memcpy(&bits, at, sizeof(bits));
    return half_value(bits);
  }
  float value;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

void put(Bytes& bytes, ElementType type, double value) {
  if (type == ElementType::int8) {
    bytes.push_back(static_cast<std::byte>(static_cast<int>(value)));
  } else if (type == ElementType::float32) {
    const auto single = static_cast<float>(value);
    bytes.insert(bytes.end(), reinterpret_cast<const std::byte*>(&single),
                 reinterpret_cast<const std::byte*>(&single + 1));
  } else {
    // every half there is, searched for the one with this value: slow, and nothing of the code under test
    static const std::map<float, std::uint16_t> kHalves = [] {
      std::map<float, std::uint16_t> halves;
      for (unsigned bits = 0; bits < 0x7c00; ++bits)
        halves[half_value(static_cast<std::uint16_t>(bits))] = static_cast<std::uint16_t>(bits);
      return halves;
    }();
    const std::uint16_t bits = kHalves.at(static_cast<float>(value));
    bytes.push_back(static_cast<std::byte>(bits & 255));
    bytes.push_back(static_cast<std::byte>(bits >> 8));
  }
}

// What `rank` must receive, by the meaning of the operation, from what the ranks send.
Bytes result_of(const FabricCall& call, const std::vector<Bytes>& sent, int rank) {
  const int ranks = static_cast<int>(sent.size());
  const std::int64_t block = call.elements / ranks;
  Bytes result;
  const auto from = [&](int source, std::int64_t index) {
    put(result, call.type, element(sent[source], call.type, index));
  };
  const auto sum = [&](std::int64_t index) {
    double total = 0;
    for (const Bytes& one : sent) total += element(one, call.type, index);
    put(result, call.type, total);
  };
  for (std::int64_t i = 0; i < elements_received(call, ranks); ++i) {
    switch (call.operation) {
      case FabricOperation::all_reduce:
        sum(i);
        break;
      case FabricOperation::reduce_scatter:
        sum(rank * block + i);
        break;
      case FabricOperation::all_gather:
        from(static_cast<int>(i / block), i % block);
        break;
      case FabricOperation::all_to_all:
        from(static_cast<int>(i / block), rank * block + i % block);
        break;
      case FabricOperation::broadcast:
        from(0, i);
        break;
      case FabricOperation::send_recv:
        from((rank + ranks - 1) % ranks, i);
        break;
    }
  }
  return result;
}

constexpr FabricOperation kOperations[] = {FabricOperation::all_reduce,     FabricOperation::all_gather,
                                           FabricOperation::reduce_scatter, FabricOperation::all_to_all,
                                           FabricOperation::broadcast,      FabricOperation::send_recv};
constexpr ElementType kTypes[] = {ElementType::float32, ElementType::float16, ElementType::int8};

std::vector<Bytes> all_sent(const FabricCall& call, int ranks) {
  std::vector<Bytes> sent;
  for (int rank = 0; rank < ranks; ++rank) sent.push_back(Pattern(call, rank, ranks).sent());
  return sent;
}

}  // namespace

TEST_CASE("pattern: what the operation gives is right, bit for bit, for any number of ranks") {
  for (const FabricOperation operation : kOperations) {
    for (const ElementType type : kTypes) {
      for (const int ranks : {2, 3, 8, 100, 130}) {
        const FabricCall call{operation, type, std::int64_t{ranks} * 7};
        const auto sent = all_sent(call, ranks);
        for (const int rank : {0, ranks - 1}) {
          CAPTURE(to_string(operation));
          CAPTURE(to_string(type));
          CAPTURE(ranks);
          CHECK(Pattern(call, rank, ranks).count_wrong(result_of(call, sent, rank), {}) == 0);
        }
      }
    }
  }
}

TEST_CASE("pattern: sums of more ranks than a half can count stay exact") {
  const FabricCall call{FabricOperation::all_reduce, ElementType::float16, 5};
  CHECK(Pattern(call, 0, 2500).count_wrong(result_of(call, all_sent(call, 2500), 0), {}) == 0);
}

TEST_CASE("pattern: every wrong element counts, and every byte past the end") {
  const FabricCall call{FabricOperation::all_gather, ElementType::float16, 30};
  Bytes result = result_of(call, all_sent(call, 3), 1);
  result[0] ^= std::byte{1};
  result[59] ^= std::byte{1};
  Bytes guard(8, Pattern::kGuard);
  CHECK(Pattern(call, 1, 3).count_wrong(result, guard) == 2);
  guard[3] = std::byte{0};
  CHECK(Pattern(call, 1, 3).count_wrong(result, guard) == 3);
  result.resize(40);
  CHECK(Pattern(call, 1, 3).count_wrong(result, {}) == 11);  // one wrong, ten missing
}

TEST_CASE("pattern: blocks of other ranks, stale buffers and doubled sums are seen") {
  const FabricCall gather{FabricOperation::all_gather, ElementType::float32, 300};
  auto sent = all_sent(gather, 3);
  std::swap(sent[0], sent[2]);
  CHECK(Pattern(gather, 0, 3).count_wrong(result_of(gather, sent, 0), {}) == 200);
  const FabricCall reduce{FabricOperation::all_reduce, ElementType::int8, 300};
  auto terms = all_sent(reduce, 3);
  terms[2] = terms[1];
  CHECK(Pattern(reduce, 0, 3).count_wrong(result_of(reduce, terms, 0), {}) == 300);
  CHECK(Pattern(reduce, 0, 3).count_wrong(Bytes(300, std::byte{0xa5}), {}) == 300);
}

TEST_CASE(
    "pattern: timed halves are of both signs, small and finite, and other on each rank; other types as checked ones") {
  const FabricCall call{FabricOperation::all_reduce, ElementType::float16, 30000};
  const Bytes sent = Pattern(call, 0, 2).lifelike();
  REQUIRE(sent.size() == 60000);
  std::map<unsigned, int> exponents;
  int negative = 0;
  for (std::size_t i = 0; i < sent.size(); i += 2) {
    std::uint16_t half = 0;
    std::memcpy(&half, sent.data() + i, sizeof half);
    CHECK_MESSAGE((half & 0x7fff) != 0, "no zeros");
    ++exponents[half >> 10 & 0x1f];
    negative += half >> 15;
  }
  CHECK(negative == doctest::Approx(15000).epsilon(0.03));
  CHECK(exponents.at(0) == doctest::Approx(20000).epsilon(0.03));  // subnormal
  CHECK(exponents.rbegin()->first == 5);                           // far below infinity
  CHECK(sent != Pattern(call, 1, 2).lifelike());
  const FabricCall floats{FabricOperation::all_reduce, ElementType::float32, 1000};
  CHECK(Pattern(floats, 0, 2).lifelike() == Pattern(floats, 0, 2).sent());
}

TEST_CASE("pattern: elements of one rank's buffers") {
  const auto both = [](FabricOperation operation) {
    const FabricCall call{operation, ElementType::int8, 12};
    return std::pair(elements_sent(call, 4), elements_received(call, 4));
  };
  CHECK(both(FabricOperation::all_reduce) == std::pair<std::int64_t, std::int64_t>(12, 12));
  CHECK(both(FabricOperation::all_gather) == std::pair<std::int64_t, std::int64_t>(3, 12));
  CHECK(both(FabricOperation::reduce_scatter) == std::pair<std::int64_t, std::int64_t>(12, 3));
  CHECK(both(FabricOperation::all_to_all) == std::pair<std::int64_t, std::int64_t>(12, 12));
}
