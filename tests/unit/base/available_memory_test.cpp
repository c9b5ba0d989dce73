#include "src/base/available_memory.h"

#include <doctest/doctest.h>

#include "tests/support/folder.h"

using namespace gradsync;

TEST_CASE("memory that programs may still take, in bytes; nothing where the kernel does not say") {
  const test::Folder folder;
  const auto of = [&](const char* text) { return available_memory(folder.put("meminfo", text)); };
  CHECK(of("MemTotal:        2048 kB\nMemFree:          10 kB\nMemAvailable:    1024 kB\n") == 1024.0 * 1024);
  CHECK_FALSE(of("MemTotal:        2048 kB\nMemFree:          10 kB\n"));
  CHECK_FALSE(of("MemAvailable:\n"));
  CHECK_FALSE(of(""));
  CHECK_FALSE(available_memory(folder.path() / "missing"));
}
