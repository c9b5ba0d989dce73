// Sums of elements as a GPU makes them: halves are added in single precision and rounded to half at each step.
#pragma once

#include <cstdint>
#include <string>

namespace fake {

float from_half(std::uint16_t bits);
std::uint16_t to_half(float value);  // to the nearest, ties to even

// Adds `other` to `sum`, element by element; both of the same size.
void add(std::string& sum, const std::string& other, std::uint32_t type);

}  // namespace fake
