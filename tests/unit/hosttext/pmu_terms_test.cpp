#include "src/hosttext/pmu_terms.h"

#include <doctest/doctest.h>

using namespace gradsync;

TEST_CASE("terms fill the bits that their format names") {
  const std::map<std::string, std::string> formats{{"event", "config:0-7,32-35\n"}, {"umask", "config:8-15\n"},
                                                   {"edge", "config:18\n"},         {"ldlat", "config1:0-15\n"},
                                                   {"odd", "config9:0\n"},          {"flat", "config\n"}};
  const auto config = [&](const char* terms) { return parse_pmu_terms(terms, formats); };
  CHECK(config("event=0x2e,umask=0x41\n") == PmuConfig{0x412e});
  CHECK(config("event=0x1c2,edge") == PmuConfig{0x1000400c2});  // split over two ranges of bits
  CHECK(config("event=3,ldlat=30") == PmuConfig{3, 30});
  CHECK(config("") == PmuConfig{});
  for (const char* broken : {"umask=0x100", "unknown=1", "event=", "event=0x", "event=x", "event=-1", "odd=1", "flat=1",
                             "=1", "event=1,,umask=1", "event=0x10000000000000000"})
    CHECK_MESSAGE(!config(broken), broken);
}

TEST_CASE("raw events are hexadecimal") {
  CHECK(parse_raw_event("r01c2") == 0x1c2);
  CHECK(parse_raw_event("rffffffffffffffff") == 0xffffffffffffffff);
  for (const char* broken : {"r", "", "x1", "retired", "r1g", "r10000000000000000", "0x1"})
    CHECK_MESSAGE(!parse_raw_event(broken), broken);
}
