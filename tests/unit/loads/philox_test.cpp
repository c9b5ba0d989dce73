#include "loads/philox.h"

#include <doctest/doctest.h>

#include <vector>

#include "loads/cpu/kernels.h"

using namespace gradsync;

TEST_CASE("Philox4x32-10 gives the published vectors") {
  CHECK(philox(0, 0, 0) == PhiloxWords{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox(~0ULL, ~0ULL, ~0ULL) == PhiloxWords{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox(0x299f31d0a4093822, 0x85a308d3243f6a88, 0x0370734413198a2e) ==
        PhiloxWords{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("many at a time are the same as one by one") {
  for (const std::uint64_t first : {std::uint64_t{0}, std::uint64_t{12345}, std::uint64_t{0xfffffff0}}) {
    std::vector<std::uint32_t> words(1003);
    kernels::draw(99, first, 7, static_cast<std::int64_t>(words.size()), words.data());
    for (std::size_t i = 0; i < words.size(); ++i) {
      CAPTURE(i);
      REQUIRE(words[i] == philox(99, first + i / 4, 7)[i % 4]);
    }
  }
}

TEST_CASE("uniform numbers stay below one, normal ones have mean 0 and variance 1") {
  CHECK(uniform(0) == 0);
  CHECK(uniform(0xffffffff) < 1);
  double sum = 0, squares = 0;
  for (std::uint64_t block = 0; block < 25'000; ++block)
    for (const float value : normals(1, block)) {
      sum += static_cast<double>(value);
      squares += static_cast<double>(value) * static_cast<double>(value);
    }
  CHECK(sum / 1e5 == doctest::Approx(0).epsilon(0.01));
  CHECK(squares / 1e5 == doctest::Approx(1).epsilon(0.015));
}
