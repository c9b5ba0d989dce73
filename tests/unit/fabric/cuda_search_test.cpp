#include "collectors/fabric/cuda_search.h"

#include <doctest/doctest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "tests/support/folder.h"

using namespace gradsync;

namespace {

constexpr auto kAny = [](const OpenLibrary&) { return std::string(); };
constexpr auto kNone = [](const OpenLibrary&) { return std::string("is of no use here"); };

LibraryKind kind(const char* soname) { return {"the library", "GSD_TEST_LIBRARY_FILE", {soname}, "make one"}; }

}  // namespace

TEST_CASE("search: what is loaded already, or the system finds, is taken") {
  const auto found = open_library(kind("libm.so.6"), kAny);
  REQUIRE(found);
  CHECK(found->path.find("libm.so.6") != std::string::npos);
  SymbolTable table(found->handle);
  double (*cosine)(double) = nullptr;
  double (*nothing)(double) = nullptr;
  table.take("cos", cosine);
  CHECK_FALSE(table.take_if_there("no_such_function", nothing));
  table.take("nor_this_one", nothing);
  CHECK(cosine(0) == 1);
  CHECK((nothing == nullptr));
  CHECK(table.missing() == std::vector<std::string>{"nor_this_one"});
}

TEST_CASE("search: an error says what was tried, once each, and what helps") {
  const auto refused = open_library(kind("libm.so.6"), kNone);
  REQUIRE_FALSE(refused);
  const std::string message = refused.error().message();
  CHECK(message.find("cannot use the library: ") == 0);
  const auto at = message.find("libm.so.6: is of no use here");
  REQUIRE(at != std::string::npos);
  CHECK(message.find("is of no use here", at + 30) == std::string::npos);
  CHECK(refused.error().hint == "make one");
  const auto missing = open_library(kind("libgsd_nowhere.so.7"), kAny);
  REQUIRE_FALSE(missing);
  CHECK(missing.error().message().find("libgsd_nowhere.so.7: cannot open") != std::string::npos);
}

TEST_CASE("search: the variable names the only file that is tried") {
  setenv("GSD_TEST_LIBRARY_FILE", "/nowhere/libm.so.6", 1);
  const auto refused = open_library(kind("libm.so.6"), kAny);
  unsetenv("GSD_TEST_LIBRARY_FILE");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message().find("cannot use the library of GSD_TEST_LIBRARY_FILE: /nowhere/libm.so.6: ") == 0);
}

TEST_CASE("search: wheels of the python on PATH") {
  // given an environment with a wheel, and a library of this system below a name that no other place has
  const auto real = open_library(kind("libm.so.6"), kAny);
  REQUIRE(real);
  const test::Folder folder;
  const std::filesystem::path& root = folder.path();
  const auto wheel = root / "lib/python3.11/site-packages/nvidia/nccl/lib";
  std::filesystem::create_directories(wheel);
  folder.put("bin/python3", "#!/bin/sh\n");
  std::filesystem::permissions(root / "bin/python3", std::filesystem::perms::owner_all);
  std::filesystem::copy_file(std::filesystem::canonical(real->path), wheel / "libgsd_wheel.so.2");
  const std::string path = getenv("PATH");
  // when that python is on PATH
  setenv("PATH", ((root / "bin").string() + ":" + path).c_str(), 1);
  const auto found = open_library(kind("libgsd_wheel.so.2"), kAny);
  setenv("PATH", path.c_str(), 1);
  // then its wheel is used
  REQUIRE(found);
  CHECK(found->path.find("nvidia/nccl/lib/libgsd_wheel.so.2") != std::string::npos);
}
