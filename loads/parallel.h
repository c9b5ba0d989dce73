// Work cut into as many even parts as there are threads. One thread: the caller's own, and nothing is started.
#pragma once

#include <cstdint>
#include <system_error>
#include <thread>
#include <vector>

namespace gradsync {

struct Part {
  std::int64_t begin = 0, end = 0;
  int number = 0;
};

// Begins and ends are multiples of `grain`, except the last end.
inline std::vector<Part> parts_of(std::int64_t elements, int threads, std::int64_t grain = 64) {
  const std::int64_t grains = (elements + grain - 1) / grain;
  std::vector<Part> parts;
  for (int i = 0; i < threads; ++i) {
    const std::int64_t begin = grains * i / threads * grain;
    const std::int64_t end = i + 1 == threads ? elements : grains * (i + 1) / threads * grain;
    if (end > begin) parts.push_back({begin, end, static_cast<int>(parts.size())});
  }
  return parts;
}

template <class Function>
void for_parts(const std::vector<Part>& parts, const Function& function) {
  std::vector<std::thread> others;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    try {
      others.emplace_back([&function, &parts, i] { function(parts[i]); });
    } catch (const std::system_error&) {  // no more threads here: the caller does it
      function(parts[i]);
    }
  }
  if (!parts.empty()) function(parts[0]);
  for (std::thread& other : others) other.join();
}

template <class Function>
void for_parts(std::int64_t elements, int threads, std::int64_t grain, const Function& function) {
  for_parts(parts_of(elements, threads, grain), function);
}

}  // namespace gradsync
