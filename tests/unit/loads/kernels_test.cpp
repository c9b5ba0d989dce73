#include "loads/cpu/kernels.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "loads/cpu/select.h"
#include "loads/load.h"
#include "loads/parallel.h"

using namespace gradsync;

TEST_CASE("fp16 rounds to nearest, ties to even, in vectors and behind them") {
  struct Case {
    float value;
    std::uint16_t half;
  };
  for (const Case& c : {Case{0, 0},
                        {-0.0F, 0x8000},
                        {1, 0x3c00},
                        {65504, 0x7bff},
                        {65519, 0x7bff},
                        {65520, 0x7c00},
                        {1 + 0x1p-11F, 0x3c00},
                        {1 + 3 * 0x1p-11F, 0x3c02},
                        {0x1p-24F, 1},
                        {0x1p-25F, 0},
                        {0x1.8p-25F, 1},
                        {-2, 0xc000}})
    for (const std::size_t n : {std::size_t{1}, std::size_t{33}}) {
      CAPTURE(c.value);
      const std::vector<float> x(n, c.value);
      std::vector<std::uint16_t> halves(n);
      CHECK(kernels::to_fp16(x.data(), static_cast<std::int64_t>(n), halves.data()) == (std::fabs(c.value) < 65520));
      for (const std::uint16_t half : halves) CHECK(half == c.half);
    }
}

TEST_CASE("bf16 rounds to nearest, and a NaN stays one") {
  const float quiet = std::bit_cast<float>(0x7f800001U);  // its low bits alone tell it from infinity
  const std::vector<float> x{1, 1 + 0x1p-8F, 1 + 3 * 0x1p-8F, -0.0F, std::numeric_limits<float>::max()};
  std::vector<std::uint16_t> out(x.size());
  CHECK_FALSE(kernels::to_bf16(x.data(), 5, out.data()));  // the largest float rounds to infinity
  CHECK(out == std::vector<std::uint16_t>{0x3f80, 0x3f80, 0x3f82, 0x8000, 0x7f80});
  CHECK_FALSE(kernels::to_bf16(&quiet, 1, out.data()));
  CHECK((out[0] & 0x7fff) > 0x7f80);
}

TEST_CASE("fp8 e4m3: the largest of a block is 448, steps below are those of the type") {
  const std::vector<float> x{448, -448, 1, 17, 18, 19, 0x1p-6F, 0x1p-9F, 0x1p-10F, 0, -0.0F};
  const std::vector<std::uint8_t> expected{0x7e, 0xfe, 0x38, 0x58, 0x59, 0x5a, 0x08, 0x01, 0x00, 0x00, 0x80};
  std::vector<std::uint8_t> codes(x.size());
  CHECK(kernels::to_fp8_block(x.data(), static_cast<std::int64_t>(x.size()), codes.data()) == 1);
  CHECK(codes == expected);
  std::vector<float> decoded(x.size());
  kernels::add_fp8_block(codes.data(), static_cast<std::int64_t>(x.size()), 1, decoded.data());
  CHECK(decoded == std::vector<float>{448, -448, 1, 16, 18, 20, 0x1p-6F, 0x1p-9F, 0, 0, 0});
}

TEST_CASE("signs are packed from the least significant bit, the rest of the last byte is zero") {
  std::vector<float> x(70, 1.0F);
  for (const std::size_t negative : {0U, 9U, 63U, 64U, 69U}) x[negative] = -1;
  x[1] = -0.0F;  // not below zero
  std::vector<std::uint8_t> bits(9, 0xff);
  kernels::pack_signs(x.data(), nullptr, 70, 0, bits.data());
  CHECK(bits == std::vector<std::uint8_t>{1, 2, 0, 0, 0, 0, 0, 0x80, 0x21});
}

TEST_CASE("compaction keeps order, and stops when there is no more room") {
  std::vector<float> x(1000);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 10);
  std::vector<std::uint32_t> indices(1000 + kernels::kSlack);
  std::vector<float> values(1000 + kernels::kSlack);
  const auto least = std::bit_cast<std::uint32_t>(8.0F);
  REQUIRE(kernels::compact(x.data(), 3, 998, least, indices.data(), values.data(), 1000) == 198);
  for (std::size_t i = 0; i < 198; ++i) {
    CHECK(indices[i] == 8 + i / 2 * 10 + i % 2);
    CHECK(values[i] == static_cast<float>(8 + i % 2));
  }
  CHECK(kernels::compact(x.data(), 3, 998, least, indices.data(), values.data(), 197) == -1);
  CHECK(kernels::compact(x.data(), 0, 1000, 0, indices.data(), values.data(), 1000) == 1000);
}

TEST_CASE("the sum of magnitudes keeps its digits") {
  const std::vector<float> x(1'000'003, -0.1F);
  CHECK(kernels::sum_of_magnitudes(x.data(), nullptr, 1'000'003) == doctest::Approx(100'000.3).epsilon(1e-6));
  CHECK(kernels::sum_of_magnitudes(x.data(), x.data(), 1'000'003) == doctest::Approx(200'000.6).epsilon(1e-6));
}

TEST_CASE("K is at least one and at most everything") {
  struct Case {
    double ratio;
    std::int64_t elements, expected;
  };
  for (const Case& c :
       {Case{0.01, 0, 0}, {0.01, 1, 1}, {0.01, 100, 1}, {0.01, 101, 2}, {1, 7, 7}, {0.001, 25'600'000, 25'600}})
    CHECK(selected_count(c.ratio, c.elements) == c.expected);
}

TEST_CASE("parts cover everything once, in order, at multiples of the grain") {
  for (const std::int64_t n : {0, 1, 63, 64, 65, 1000})
    for (const int threads : {1, 2, 7}) {
      std::int64_t covered = 0;
      for (const Part& part : parts_of(n, threads)) {
        CHECK(part.begin == covered);
        CHECK(part.begin % 64 == 0);
        covered = part.end;
      }
      CHECK(covered == n);
    }
}
