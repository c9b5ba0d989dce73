// Device memory of the fake: host memory with guard bytes on both sides, and a list of what was handed out.
#pragma once

#include <cstddef>

namespace fake {

void* allocate_device(std::size_t bytes);  // nullptr: the knob GSD_FAKE_CUDA_MEMORY allows no more
// Whether `memory` was handed out. Ends the process when something wrote past either end.
enum class Freed { yes, unknown };
Freed free_device(void* memory);
// Whether all these bytes lie in one piece of device memory.
bool on_device(const void* memory, std::size_t bytes);
std::size_t device_bytes_free();
std::size_t device_bytes_total();

}  // namespace fake
