#include "src/commands/background_load.h"

#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <thread>

using namespace gradsync;

namespace {

int threads_here() {
  std::thread([] {}).join();  // sanitizers begin a thread of their own beside the first
  int count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) ++count;
  return count;
}

// A round ends sooner or later: only its absence for half a minute is a failure.
bool goes_on(const BackgroundLoad& load) {
  const std::int64_t before = rounds_of(load);
  for (int i = 0; i < 3000 && rounds_of(load) == before; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return rounds_of(load) > before;
}

}  // namespace

TEST_CASE("it works on as many threads as it was told, until it is stopped, and again") {
  const int before = threads_here();
  const auto load = make_background_load(cpu_load_library(), 2);
  CHECK(load->name().find("2 threads") != std::string::npos);
  CHECK(threads_here() == before);
  for (int again = 0; again < 2; ++again) {
    REQUIRE(load->start());
    CHECK(threads_here() == before + 2);
    CHECK(goes_on(*load));
    load->stop();
    CHECK(threads_here() == before);
    const std::int64_t rounds = rounds_of(*load);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    CHECK(rounds_of(*load) == rounds);
  }
}

TEST_CASE("one that runs stops when it is given up") {
  const int before = threads_here();
  {
    const auto load = make_background_load(cpu_load_library(), 1);
    REQUIRE(load->start());
  }
  CHECK(threads_here() == before);
}
