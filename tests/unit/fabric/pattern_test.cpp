#include "collectors/fabric/pattern.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <vector>

namespace gradsync {
namespace {

using Bytes = std::vector<std::uint8_t>;

float value_at(const Bytes& bytes, ElementType type, std::int64_t index) {
  const auto at = static_cast<std::size_t>(index * size_of(type));
  if (type == ElementType::int8) return static_cast<float>(static_cast<std::int8_t>(bytes[at]));
  if (type == ElementType::float32) {
    float value = 0;
    std::memcpy(&value, &bytes[at], sizeof value);
    return value;
  }
  std::uint16_t half = 0;
  std::memcpy(&half, &bytes[at], sizeof half);
  const int exponent = (half >> 10) & 31;
  return exponent == 0 ? 0.0F : std::ldexp(1.0F + static_cast<float>(half & 1023) / 1024.0F, exponent - 15);
}

void put(Bytes& bytes, ElementType type, std::int64_t index, float value) {
  const auto at = static_cast<std::size_t>(index * size_of(type));
  if (type == ElementType::float32) std::memcpy(&bytes[at], &value, sizeof value);
  if (type == ElementType::int8) bytes[at] = static_cast<std::uint8_t>(value);
  if (type == ElementType::float16) {
    int exponent = 0;
    const float fraction = std::frexp(value, &exponent);  // 0.5 … 1
    const auto half = value == 0 ? 0 : ((exponent + 14) << 10 | static_cast<int>((fraction * 2 - 1) * 1024));
    const auto bits = static_cast<std::uint16_t>(half);
    std::memcpy(&bytes[at], &bits, sizeof bits);
  }
}

// The operation as its definition says, over the ranks' vectors.
Bytes received(const FabricCall& call, const std::vector<Bytes>& sent, int rank) {
  const int ranks = static_cast<int>(sent.size());
  const std::int64_t part = call.elements / ranks, all = buffer_sizes(call, ranks).receive;
  Bytes result(static_cast<std::size_t>(all * size_of(call.type)));
  for (std::int64_t index = 0; index < all; ++index) {
    const auto of = [&](int from, std::int64_t at) {
      return value_at(sent[static_cast<std::size_t>(from)], call.type, at);
    };
    float value = 0;
    switch (call.operation) {
      case FabricOperation::all_reduce:
        for (int from = 0; from < ranks; ++from) value += of(from, index);
        break;
      case FabricOperation::reduce_scatter:
        for (int from = 0; from < ranks; ++from) value += of(from, rank * part + index);
        break;
      case FabricOperation::all_gather:
        value = of(static_cast<int>(index / part), index % part);
        break;
      case FabricOperation::all_to_all:
        value = of(static_cast<int>(index / part), rank * part + index % part);
        break;
      case FabricOperation::broadcast:
        value = of(0, index);
        break;
      case FabricOperation::send_recv:
        value = of((rank + ranks - 1) % ranks, index);
        break;
    }
    put(result, call.type, index, value);
  }
  return result;
}

}  // namespace

TEST_CASE("a right result has no wrong element, and each that is changed is counted") {
  for (const auto operation :
       {FabricOperation::all_reduce, FabricOperation::all_gather, FabricOperation::reduce_scatter,
        FabricOperation::all_to_all, FabricOperation::broadcast, FabricOperation::send_recv})
    for (const auto type : {ElementType::float32, ElementType::float16, ElementType::int8})
      for (const int ranks : {2, 3}) {
        CAPTURE(to_string(operation));
        CAPTURE(to_string(type));
        const FabricCall call{operation, type, 6 * 41};
        std::vector<Bytes> sent;
        for (int rank = 0; rank < ranks; ++rank) {
          sent.emplace_back(static_cast<std::size_t>(buffer_sizes(call, ranks).send * size_of(type)));
          fill_sent(sent.back().data(), call, {rank, ranks, 5});
        }
        for (int rank = 0; rank < ranks; ++rank) {
          Bytes result = received(call, sent, rank);
          CHECK(count_wrong_received(result.data(), call, {rank, ranks, 5}) == 0);
          CHECK(count_wrong_received(result.data(), call, {rank, ranks, 6}) > 0);  // of the call before
          put(result, type, 0, 100);
          put(result, type, 7, 100);
          CHECK(count_wrong_received(result.data(), call, {rank, ranks, 5}) == 2);
        }
      }
}

TEST_CASE("ranks send different vectors, so that a swapped part is seen") {
  const FabricCall call{FabricOperation::all_gather, ElementType::int8, 128};
  Bytes first(64), second(64);
  fill_sent(first.data(), call, {0, 2, 0});
  fill_sent(second.data(), call, {1, 2, 0});
  Bytes swapped = second;
  swapped.insert(swapped.end(), first.begin(), first.end());
  CHECK(count_wrong_received(swapped.data(), call, {0, 2, 0}) == 128);
}

}  // namespace gradsync
