#include "src/base/cpu_list.h"

#include <doctest/doctest.h>

namespace gradsync {
namespace {

TEST_CASE("a list of CPUs is read and written as the kernel does") {
  CHECK(parse_cpu_list("0-3,8\n") == CpuList{0, 1, 2, 3, 8});
  CHECK(parse_cpu_list("8,0-1,1") == CpuList{0, 1, 8});
  CHECK(parse_cpu_list("\n") == CpuList{});
  CHECK(format_cpu_list({0, 1, 2, 3, 8}) == "0-3,8");
  CHECK(format_cpu_list({}).empty());
}

TEST_CASE("what is no list is nothing") {
  for (const char* text : {"x", "1-", "3-1", "1,,2", "1,", "-1", "0-1:1/2", "0-4294967295", "1 2"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_cpu_list(text));
  }
}

TEST_CASE("a mask is read from its last digit on") {
  CHECK(parse_cpu_mask("3\n") == CpuList{0, 1});
  CHECK(parse_cpu_mask("00000001,80000000") == CpuList{31, 32});
  CHECK(parse_cpu_mask("0") == CpuList{});
  CHECK_FALSE(parse_cpu_mask("3g"));
  CHECK_FALSE(parse_cpu_mask(""));
}

TEST_CASE("lists as sets") {
  CHECK(common({0, 1, 2}, {1, 2, 3}) == CpuList{1, 2});
  CHECK(without({0, 1, 2}, {1}) == CpuList{0, 2});
  CHECK(joined({0, 2}, {1, 2}) == CpuList{0, 1, 2});
  CHECK(contains({0, 2}, 2));
  CHECK_FALSE(contains({0, 2}, 1));
}

}  // namespace
}  // namespace gradsync
