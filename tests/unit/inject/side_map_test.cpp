#include "collectors/inject/side_map.h"

#include <doctest/doctest.h>

#include <thread>
#include <vector>

using gradsync::SideMap;

TEST_CASE("a side map puts, replaces, takes, and refuses when a window is full") {
  static SideMap<256> map;
  CHECK(map.get(5) == 0);
  CHECK(map.put(5, 50));
  CHECK(map.put(5, 51));
  CHECK(map.get(5) == 51);
  CHECK(map.take(5) == 51);
  CHECK(map.take(5) == 0);
  CHECK_FALSE(map.put(0, 1));
  int kept = 0;
  for (std::uint64_t key = 1; key <= 1000; ++key) kept += map.put(key, key * 2);
  CHECK(kept <= 256);
  CHECK(kept > 128);
  int found = 0;
  for (std::uint64_t key = 1; key <= 1000; ++key) {
    const std::uint64_t value = map.get(key);
    CHECK((value == 0 || value == key * 2));
    found += value != 0;
  }
  CHECK(found == kept);
}

TEST_CASE("threads that use one side map") {
  static SideMap<4096> map;
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  for (std::uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([t, &wrong] {
      for (std::uint64_t i = 1; i <= 20000; ++i) {
        const std::uint64_t key = i * 4 + t;
        if (map.put(key, key)) wrong[t] += map.take(key) != key;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(wrong == std::vector<int>(4));
}
