#include "tests/fabric/fake_nccl/sums.h"

#include <cmath>
#include <cstring>

#include "collectors/fabric/abi/nccl_abi.h"

namespace fake {
namespace {

template <class Element, class Add>
void add_elements(std::string& sum, const std::string& other, const Add& plus) {
  for (std::size_t at = 0; at + sizeof(Element) <= sum.size(); at += sizeof(Element)) {
    Element a, b;
    std::memcpy(&a, sum.data() + at, sizeof(a));
    std::memcpy(&b, other.data() + at, sizeof(b));
    a = plus(a, b);
    std::memcpy(sum.data() + at, &a, sizeof(a));
  }
}

}  // namespace

float from_half(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 0x3ff;
  const float sign = bits & 0x8000 ? -1.F : 1.F;
  if (exponent == 31) return fraction ? NAN : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(fraction), -24);
  return sign * std::ldexp(static_cast<float>(fraction + 1024), exponent - 25);
}

std::uint16_t to_half(float value) {
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const float size = std::fabs(value);
  if (std::isnan(value)) return 0x7e00;
  if (size >= 65520.F) return sign | 0x7c00;
  int exponent = 0;
  std::frexp(size, &exponent);                            // size = 0.5…1 times 2^exponent
  const int step = exponent > -14 ? exponent - 11 : -24;  // of the last bit
  const auto units = static_cast<unsigned>(std::nearbyint(std::ldexp(size, -step)));
  if (exponent <= -14) return sign | static_cast<std::uint16_t>(units);
  // 1024…2048 units; 2048 carries into the exponent by itself
  return sign | static_cast<std::uint16_t>((static_cast<unsigned>(exponent + 14) << 10) + (units - 1024));
}

void add(std::string& sum, const std::string& other, std::uint32_t type) {
  if (type == gradsync::nccl::kFloat32)
    add_elements<float>(sum, other, [](float a, float b) { return a + b; });
  else if (type == gradsync::nccl::kFloat16)
    add_elements<std::uint16_t>(sum, other, [](auto a, auto b) { return to_half(from_half(a) + from_half(b)); });
  else
    add_elements<std::uint8_t>(sum, other, [](auto a, auto b) { return static_cast<std::uint8_t>(a + b); });
}

}  // namespace fake
