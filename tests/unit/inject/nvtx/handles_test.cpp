// Handles, and the stack of ranges.
#include <doctest/doctest.h>

#include <string>

#include "collectors/inject/nvtx/domains.h"
#include "collectors/inject/nvtx/thread_ranges.h"
#include "tests/unit/spool_writer/spool_probe.h"

using namespace gradsync::nvtx;

TEST_CASE("handles hold their meaning; anything else is the default") {
  const std::uint64_t domain = handle_of_domain(7);
  CHECK(domain_of_handle(reinterpret_cast<DomainHandle>(domain)) == 7);
  int somewhere = 0;
  CHECK(domain_of_handle(&somewhere) == kDefaultDomain);
  CHECK(domain_of_handle(nullptr) == kDefaultDomain);
  CHECK(domain_of_handle(reinterpret_cast<DomainHandle>(handle_of_domain(kMaxDomains))) == kDefaultDomain);
  const std::uint64_t text = handle_of_string({4711, 3});
  CHECK(string_of_handle(reinterpret_cast<StringHandle>(text)).id == 4711);
  CHECK(string_of_handle(reinterpret_cast<StringHandle>(text)).nccl_call == 3);
  CHECK(string_of_handle(&somewhere).id == 0);
  CHECK(string_of_handle(nullptr).id == 0);
}

TEST_CASE("too many domains: the last stands for the rest") {
  const gradsync::test::Recording recording;
  CHECK(gradsync::test::run_writer(&recording, [] {
          const std::uint32_t first = create_domain("domain 0");
          for (int i = 1; i < 400; ++i) create_domain(("domain " + std::to_string(i)).c_str());
          if (create_domain("domain 0") != first) return 1;
          if (create_domain("one more") != kMaxDomains - 1) return 2;
          return domain_at(kMaxDomains - 1).is_nccl || create_domain(nullptr) != kDefaultDomain ? 3 : 0;
        }) == 0);
}

TEST_CASE("wide strings become UTF-8") {
  char text[32];
  CHECK(narrow(L"plain", text, sizeof text) == 5);
  CHECK(std::string(text) == "plain");
  narrow(L"\u00e9 \u20ac \U0001F600", text, sizeof text);
  CHECK(std::string(text) == "\u00e9 \u20ac \U0001F600");
  CHECK(narrow(L"0123456789012345678901234567890123456789", text, sizeof text) < sizeof text);
  CHECK(std::string(text) ==
        std::string("0123456789012345678901234567890123456789").substr(0, std::string(text).size()));
}

TEST_CASE("ranges of one thread: levels, domains that interleave, pops without a push, too deep") {
  static ThreadRanges ranges;
  CHECK(ranges.pop(0).level < 0);
  CHECK(ranges.push(11, 0) == 0);
  CHECK(ranges.push(12, 1) == 1);
  CHECK(ranges.push(13, 0) == 2);
  CHECK(ranges.pop(1).event == 12);
  CHECK(ranges.pop(1).level < 0);
  CHECK(ranges.pop(0).event == 13);
  CHECK(ranges.pop(0).event == 11);
  for (std::uint64_t i = 1; i <= 200; ++i) CHECK(ranges.push(i, 0) == static_cast<int>(i) - 1);
  for (std::uint64_t i = 200; i >= 1; --i) {
    const auto popped = ranges.pop(0);
    CHECK(popped.event == (i > 128 ? 0 : i));
    CHECK(popped.level == static_cast<int>(i) - 1);
  }
  CHECK(ranges.pop(0).level < 0);
}
