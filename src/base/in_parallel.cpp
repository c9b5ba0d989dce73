#include "src/base/in_parallel.h"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

namespace gradsync {

void in_parallel(std::size_t count, int threads, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  const auto take_turns = [&] {
    for (std::size_t i = next++; i < count; i = next++) work(i);
  };
  std::vector<std::thread> workers;
  try {
    for (std::size_t i = 1; i < std::min(static_cast<std::size_t>(std::max(threads, 1)), count); ++i)
      workers.emplace_back(take_turns);
  } catch (const std::system_error&) {
    // No more threads are allowed here: those that run share the work.
  }
  take_turns();
  for (std::thread& worker : workers) worker.join();
}

}  // namespace gradsync
