#include "collectors/import/nccl_table.h"

#include <doctest/doctest.h>

#include <cmath>

namespace gradsync {
namespace {

const std::string kNew =
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw "
    "#wrong";
const std::string kOld =
    "#       size         count    type     time   algbw   busbw  error     time   algbw   busbw  error";

std::optional<TableLine> row_of(const std::string& header, const std::string& text, const std::string& above = "") {
  const auto layout = table_layout(header, above);
  REQUIRE(layout);
  TableRow row;
  if (!row.begin(text, *layout)) return std::nullopt;
  return row.take(*layout);
}

}  // namespace

TEST_CASE("columns are found by name, with and without reduction and root") {
  const auto line = row_of(kNew, "  1048576  262144  float  sum  -1  135.3  7.75  15.02  0  132.7  7.90  15.31  N/A");
  REQUIRE(line);
  CHECK(line->bytes == 1048576);
  CHECK(line->count == 262144);
  CHECK(line->type == "float");
  CHECK(line->redop == "sum");
  CHECK(line->root == "-1");
  CHECK(line->out.time == doctest::Approx(135.3));
  CHECK(line->out.wrong == 0);
  CHECK(line->in.busbw == doctest::Approx(15.31));
  CHECK(std::isnan(line->in.wrong));

  const auto old = row_of(kOld, "   32   1   float    35.03    0.00    0.00  2e-07    34.15    0.00    0.01    N/A");
  REQUIRE(old);
  CHECK(old->redop == "");
  CHECK(old->out.error == doctest::Approx(2e-07));
  CHECK(std::isnan(old->out.wrong));
  CHECK(old->in.busbw == doctest::Approx(0.01));
}

TEST_CASE("a blank reduction is no column that is missing elsewhere") {
  const auto line =
      row_of("#  size  count  type  redop  time  algbw  busbw  error  time  algbw  busbw  error",
             "  67108864  2097152  float          396.8  169.13  147.99  N/A  387.0  173.41  151.73  N/A");
  REQUIRE(line);
  CHECK(line->redop == "");
  CHECK(line->out.time == doctest::Approx(396.8));
  CHECK(line->in.busbw == doctest::Approx(151.73));
}

TEST_CASE("one group alone is the one under whose header it stands") {
  const std::string in_place =
      "          64            16     float     sum      -1" + std::string(32, ' ') + "   12.50    1.00    2.00      0";
  const auto second = row_of(kNew, in_place);
  REQUIRE(second);
  CHECK_FALSE(second->out.present);
  CHECK(second->in.time == doctest::Approx(12.5));

  const auto first =
      row_of(kNew, "          64            16     float     sum      -1    12.50    1.00    2.00      0");
  REQUIRE(first);
  CHECK(first->out.time == doctest::Approx(12.5));
  CHECK_FALSE(first->in.present);

  const auto only = row_of("#  size  count  type  redop  root  time  algbw  busbw #wrong",
                           "  64  16  float  sum  -1  12.5  1.0  2.0  0", "#              in-place");
  REQUIRE(only);
  CHECK(only->in.time == doctest::Approx(12.5));
}

TEST_CASE("newer columns: per-iteration times, time stamps, CPU time") {
  const auto line = row_of(
      "# size count type redop root time algbw busbw #wrong i_min i_max i_p99 i_cv% time algbw busbw #wrong i_min "
      "i_max "
      "i_p99 i_cv% timestamp",
      " 8 2 float sum -1 10.0 1.0 1.5 0 9.0 14.0 13.5 4.2 11.0 1.0 1.4 0 9.5 15.0 14.5 4.1 2026-01-02 10:00:00");
  REQUIRE(line);
  CHECK(line->out.p99 == doctest::Approx(13.5));
  CHECK(line->in.time == doctest::Approx(11.0));
  CHECK(line->in.p99 == doctest::Approx(14.5));

  const auto cpu = row_of("# size count type redop root cputime algbw busbw #wrong cputime algbw busbw #wrong",
                          " 8 2 float sum -1 10.0 1.0 1.5 0 11.0 1.0 1.4 0");
  REQUIRE(cpu);
  CHECK(std::isnan(cpu->out.time));
  CHECK(cpu->out.busbw == doctest::Approx(1.5));
}

TEST_CASE("a prefix that every line carries is left out by its words") {
  const auto line = row_of("2026-01-02T10:00:00Z worker-0 " + kNew,
                           "2026-01-02T10:00:07Z worker-0   8  2  float  sum  -1  1.5  0.1  0.2  0  1.6  0.1  0.2  0");
  REQUIRE(line);
  CHECK(line->bytes == 8);
  CHECK(line->in.time == doctest::Approx(1.6));
}

TEST_CASE("what is no header and no row") {
  for (const char* text : {"", "# algbw and busbw are bandwidths", "size count type", "# size count type algbw busbw",
                           "count size type time algbw busbw", "#  (B) (elements) (us) (GB/s)"})
    CHECK_FALSE(table_layout(text, ""));
  for (const char* text :
       {"", "8 2", "8 x float", "-8 2 float 1 2 3", "8 2 3 4 5 6 7", "# 8 2 float", "99999999999999999999 2 float sum"})
    CHECK_FALSE(row_of(kNew, text));
  CHECK(std::isnan(table_number("N/A")));
  CHECK(std::isnan(table_number("nan")));
  CHECK(std::isnan(table_number("1.5x")));
  CHECK(table_number("0*") == 0);
}

}  // namespace gradsync
