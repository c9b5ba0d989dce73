#include <doctest/doctest.h>

#include "src/model/analyzer.h"

using namespace gradsync;

namespace {

Summary one_row(std::int64_t rank, double value) {
  Summary summary;
  summary.table("t", {"rank", "value"}).rows.push_back({rank, value});
  return summary;
}

}  // namespace

TEST_CASE("summaries merge in any order and grouping") {
  Summary left = one_row(2, 1.5), right = one_row(0, 2.5);
  left.merge(one_row(1, 0.5));
  left.merge(right);
  right.merge(one_row(1, 0.5));
  right.merge(one_row(2, 1.5));
  left.canonicalise();
  right.canonicalise();
  CHECK(left == right);
  CHECK(left.find("t")->rows.size() == 3);
  CHECK(left.find("none") == nullptr);
}
