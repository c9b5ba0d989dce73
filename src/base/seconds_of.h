// How long a call takes, by the monotonic clock.
#pragma once

#include <chrono>

namespace gradsync {

template <class Function>
double seconds_of(const Function& function) {
  const auto begin = std::chrono::steady_clock::now();
  function();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace gradsync
