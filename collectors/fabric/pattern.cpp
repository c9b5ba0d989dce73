#include "collectors/fabric/pattern.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <random>

namespace gradsync {
namespace {

bool adds_up(FabricOperation operation) {
  return operation == FabricOperation::all_reduce || operation == FabricOperation::reduce_scatter;
}

// The largest whole number up to which all are exact in the type, of floats as much as is asked for.
int largest_exact(ElementType type, int of_float) {
  switch (type) {
    case ElementType::float16:
      return 2048;
    case ElementType::int8:
      return 127;
    case ElementType::float32:
      break;
  }
  return of_float;
}

std::uint32_t hash(std::int64_t index) {
  const auto mixed = static_cast<std::uint64_t>(index) * 0x9e3779b97f4a7c15ull;
  return static_cast<std::uint32_t>(mixed >> 33);
}

// Whole numbers from 0 to 2048 are exact: sign 0, five bits of exponent (biased by 15), ten of fraction.
std::uint32_t half_bits(int value) {
  if (value == 0) return 0;
  const int exponent = std::bit_width(static_cast<unsigned>(value)) - 1;
  const unsigned fraction = exponent <= 10 ? static_cast<unsigned>(value) << (10 - exponent)
                                           : static_cast<unsigned>(value) >> (exponent - 10);
  return static_cast<unsigned>(exponent + 15) << 10 | (fraction & 0x3ff);
}

// Sign, exponent and fraction from independent bits.
std::uint16_t lifelike_half(std::uint64_t random) {
  constexpr std::uint64_t kHidden = 1 << 10, kMagnitudes = 15, kSubnormal = 10;
  const std::uint64_t fraction = random & (kHidden - 1), magnitude = (random >> 10) % kMagnitudes;
  const std::uint64_t bits = magnitude < kSubnormal ? (kHidden + fraction) >> (kSubnormal - magnitude)
                                                    : (magnitude - kSubnormal + 1) << 10 | fraction;
  return static_cast<std::uint16_t>(bits | (random >> 30 & 1) << 15);
}

template <class Element>
std::int64_t differing(std::span<const std::byte> received, const auto& expected) {
  std::int64_t wrong = 0;
  const auto elements = static_cast<std::int64_t>(received.size() / sizeof(Element));
  for (std::int64_t i = 0; i < elements; ++i) {
    Element element;
    std::memcpy(&element, received.data() + i * sizeof(Element), sizeof(Element));
    if (element != static_cast<Element>(expected(i))) ++wrong;
  }
  return wrong;
}

}  // namespace

std::int64_t elements_sent(const FabricCall& call, int ranks) {
  return call.operation == FabricOperation::all_gather ? call.elements / ranks : call.elements;
}

std::int64_t elements_received(const FabricCall& call, int ranks) {
  return call.operation == FabricOperation::reduce_scatter ? call.elements / ranks : call.elements;
}

Pattern::Pattern(const FabricCall& call, int rank, int ranks) : call_(call), rank_(rank), ranks_(ranks) {
  if (!adds_up(call.operation)) {
    modulus_ = largest_exact(call.type, 65521);
    return;
  }
  const int limit = largest_exact(call.type, 1 << 20);
  if (ranks > limit) {
    limit_ = limit;
    modulus_ = ranks;
    sums_.assign(static_cast<std::size_t>(ranks), limit);  // each residue occurs once among the ranks
    return;
  }
  modulus_ = std::min(limit / ranks, 60) + 1;
  for (int first = 0; first < modulus_; ++first) {
    int sum = 0;
    for (int of_rank = 0; of_rank < ranks; ++of_rank) sum += (first + of_rank) % modulus_;
    sums_.push_back(sum);
  }
}

int Pattern::residue(int of_rank, std::int64_t index) const {
  return static_cast<int>((static_cast<std::int64_t>(hash(index)) + of_rank) % modulus_);
}

int Pattern::shown(int residue) const { return limit_ > 0 ? static_cast<int>(residue < limit_) : residue; }

int Pattern::value(int of_rank, std::int64_t index) const { return shown(residue(of_rank, index)); }

// Of element `index` of this rank's result.
int Pattern::expected(std::int64_t index) const {
  const std::int64_t block = call_.elements / ranks_;
  switch (call_.operation) {
    case FabricOperation::all_reduce:
      return sums_[static_cast<std::size_t>(residue(0, index))];
    case FabricOperation::reduce_scatter:
      return sums_[static_cast<std::size_t>(residue(0, rank_ * block + index))];
    case FabricOperation::all_gather:
      return value(static_cast<int>(index / block), index % block);
    case FabricOperation::all_to_all:
      return value(static_cast<int>(index / block), rank_ * block + index % block);
    case FabricOperation::broadcast:
      return value(0, index);
    case FabricOperation::send_recv:
      return value((rank_ + ranks_ - 1) % ranks_, index);
  }
  return 0;
}

std::uint32_t Pattern::bits(int value) const {
  if (call_.type == ElementType::float16) return half_bits(value);
  if (call_.type == ElementType::int8) return static_cast<std::uint32_t>(value);
  return std::bit_cast<std::uint32_t>(static_cast<float>(value));
}

std::vector<std::byte> Pattern::sent() const {
  const auto size = static_cast<std::size_t>(size_of(call_.type));
  const std::int64_t elements = elements_sent(call_, ranks_);
  std::vector<std::byte> buffer(static_cast<std::size_t>(elements) * size);
  for (std::int64_t i = 0; i < elements; ++i) {
    const std::uint32_t element = bits(value(rank_, i));  // little-endian hosts: the low bytes come first
    std::memcpy(buffer.data() + static_cast<std::size_t>(i) * size, &element, size);
  }
  return buffer;
}

std::vector<std::byte> Pattern::lifelike() const {
  if (call_.type != ElementType::float16) return sent();
  const std::int64_t elements = elements_sent(call_, ranks_);
  std::mt19937_64 random(static_cast<std::uint64_t>(rank_) + 1);  // a predictor of branches learns simpler sequences
  std::vector<std::byte> buffer(static_cast<std::size_t>(elements) * sizeof(std::uint16_t));
  for (std::int64_t i = 0; i < elements; ++i) {
    const std::uint16_t element = lifelike_half(random());
    std::memcpy(buffer.data() + static_cast<std::size_t>(i) * sizeof element, &element, sizeof element);
  }
  return buffer;
}

std::int64_t Pattern::count_wrong(std::span<const std::byte> received, std::span<const std::byte> guard) const {
  const auto wanted = [&](std::int64_t i) { return bits(expected(i)); };
  std::int64_t wrong = std::count_if(guard.begin(), guard.end(), [](std::byte byte) { return byte != kGuard; });
  const auto size = static_cast<std::int64_t>(received.size()) / size_of(call_.type);
  wrong += std::max<std::int64_t>(0, elements_received(call_, ranks_) - size);
  switch (call_.type) {
    case ElementType::float32:
      return wrong + differing<std::uint32_t>(received, wanted);
    case ElementType::float16:
      return wrong + differing<std::uint16_t>(received, wanted);
    case ElementType::int8:
      break;
  }
  return wrong + differing<std::uint8_t>(received, wanted);
}

}  // namespace gradsync
