#include "collectors/fabric/pattern.h"

#include <array>
#include <cstddef>

namespace gradsync {
namespace {

constexpr unsigned kSummed = 4, kCopied = 64, kCopiedStep = 11;  // 11 and 64: 64 ranks differ from each other

bool sums(FabricOperation operation) {
  return operation == FabricOperation::all_reduce || operation == FabricOperation::reduce_scatter;
}

// IEEE half of a whole number up to 2048.
std::uint16_t half_of(unsigned value) {
  if (value == 0) return 0;
  unsigned exponent = 0;
  while ((value >> (exponent + 1)) != 0) ++exponent;
  const unsigned mantissa = exponent <= 10 ? (value << (10 - exponent)) & 0x3ff : (value >> (exponent - 10)) & 0x3ff;
  return static_cast<std::uint16_t>((exponent + 15) << 10 | mantissa);
}

template <class T>
T element(unsigned value) {
  if constexpr (sizeof(T) == 2)
    return half_of(value);
  else
    return static_cast<T>(value);
}

unsigned mix(std::int64_t index) {
  const auto bits = static_cast<std::uint64_t>(index);
  return static_cast<unsigned>(bits ^ (bits >> 6) ^ (bits >> 13));
}

// A stretch of a vector: element i is table[(mix(first + i) + shift) % m].
template <class T>
struct Stretch {
  std::array<T, kCopied> table{};
  unsigned mask = 0, shift = 0;
  std::int64_t first = 0;

  T at(std::int64_t index) const { return table[(mix(first + index) + shift) & mask]; }
};

template <class T>
Stretch<T> sent_by(int rank, const FabricCall& call, unsigned salt, std::int64_t first) {
  Stretch<T> stretch;
  const bool summed = sums(call.operation);
  stretch.mask = (summed ? kSummed : kCopied) - 1;
  stretch.shift = salt + static_cast<unsigned>(rank) * (summed ? 1 : kCopiedStep);
  stretch.first = first;
  for (unsigned value = 0; value <= stretch.mask; ++value) stretch.table[value] = element<T>(value);
  return stretch;
}

// The sum over ranks of ((x + rank) mod 4) depends on x mod 4 alone.
template <class T>
Stretch<T> sum_of_all(const PatternPlace& place, std::int64_t first) {
  Stretch<T> stretch;
  stretch.mask = kSummed - 1;
  stretch.shift = place.salt;
  stretch.first = first;
  for (unsigned x = 0; x < kSummed; ++x) {
    unsigned sum = 0;
    for (int rank = 0; rank < place.ranks; ++rank) sum += (x + static_cast<unsigned>(rank)) % kSummed;
    stretch.table[x] = element<T>(sum);
  }
  return stretch;
}

template <class T>
std::int64_t differing(const T* got, std::int64_t elements, const Stretch<T>& expected) {
  std::int64_t wrong = 0;
  for (std::int64_t index = 0; index < elements; ++index) wrong += got[index] != expected.at(index) ? 1 : 0;
  return wrong;
}

template <class T>
std::int64_t count_wrong(const T* got, const FabricCall& call, const PatternPlace& place) {
  const std::int64_t all = call.elements, part = all / place.ranks;
  const auto from = [&](int rank, std::int64_t first) { return sent_by<T>(rank, call, place.salt, first); };
  std::int64_t wrong = 0;
  switch (call.operation) {
    case FabricOperation::all_reduce:
      return differing(got, all, sum_of_all<T>(place, 0));
    case FabricOperation::reduce_scatter:
      return differing(got, part, sum_of_all<T>(place, part * place.rank));
    case FabricOperation::broadcast:
      return differing(got, all, from(0, 0));
    case FabricOperation::send_recv:
      return differing(got, all, from((place.rank + place.ranks - 1) % place.ranks, 0));
    case FabricOperation::all_gather:
      for (int rank = 0; rank < place.ranks; ++rank) wrong += differing(got + rank * part, part, from(rank, 0));
      return wrong;
    case FabricOperation::all_to_all:
      for (int rank = 0; rank < place.ranks; ++rank)
        wrong += differing(got + rank * part, part, from(rank, part * place.rank));
      return wrong;
  }
  return wrong;
}

template <class T>
void fill(T* buffer, std::int64_t elements, const Stretch<T>& stretch) {
  for (std::int64_t index = 0; index < elements; ++index) buffer[index] = stretch.at(index);
}

}  // namespace

BufferSizes buffer_sizes(const FabricCall& call, int ranks) {
  const std::int64_t all = call.elements, part = all / ranks;
  switch (call.operation) {
    case FabricOperation::all_gather:
      return {part, all};
    case FabricOperation::reduce_scatter:
      return {all, part};
    default:
      return {all, all};
  }
}

void fill_sent(void* buffer, const FabricCall& call, const PatternPlace& place) {
  const std::int64_t elements = buffer_sizes(call, place.ranks).send;
  const auto fill_as = [&]<class T>(T* typed) { fill(typed, elements, sent_by<T>(place.rank, call, place.salt, 0)); };
  switch (call.type) {
    case ElementType::float32:
      return fill_as(static_cast<float*>(buffer));
    case ElementType::float16:
      return fill_as(static_cast<std::uint16_t*>(buffer));
    case ElementType::int8:
      return fill_as(static_cast<std::int8_t*>(buffer));
  }
}

std::int64_t count_wrong_received(const void* buffer, const FabricCall& call, const PatternPlace& place) {
  switch (call.type) {
    case ElementType::float32:
      return count_wrong(static_cast<const float*>(buffer), call, place);
    case ElementType::float16:
      return count_wrong(static_cast<const std::uint16_t*>(buffer), call, place);
    case ElementType::int8:
      return count_wrong(static_cast<const std::int8_t*>(buffer), call, place);
  }
  return 0;
}

}  // namespace gradsync
