#include "loads/error_feedback.h"
#include "loads/library.h"

#include <doctest/doctest.h>

#include <vector>

#include "loads/cpu/cpu_load.h"

using namespace gradsync;

namespace {

const LoadOptions kOneOfTwo{.ratio = 0.5, .feedback = Feedback::residual};

}  // namespace

TEST_CASE("what was not sent is added to the next gradient, and sent once it is the largest") {
  const auto load = with_feedback(make_topk_select(kOneOfTwo), kOneOfTwo);
  REQUIRE(load->prepare(2, 0));
  Payload payload;
  load->reserve(payload);

  load->compress(std::vector<float>{3, 2}, payload);
  CHECK(payload.indices[0] == 0);
  CHECK(load->residual()[0] == 0);
  CHECK(load->residual()[1] == 2);

  load->compress(std::vector<float>{3, 2}, payload);
  CHECK(payload.indices[0] == 1);
  CHECK(payload.values[0] == 4);
  CHECK(load->residual()[0] == 3);
  CHECK(load->residual()[1] == 0);
}

TEST_CASE("with momentum the velocity is accumulated, and begins anew where it was sent") {
  LoadOptions options = kOneOfTwo;
  options.momentum = 0.5;
  const auto load = with_feedback(make_topk_select(options), options);
  REQUIRE(load->prepare(2, 0));
  Payload payload;
  load->reserve(payload);

  load->compress(std::vector<float>{4, 2}, payload);  // u 4 2, sends 4, u 0 2, residual 0 2
  load->compress(std::vector<float>{0, 2}, payload);  // u 0 3, p 0 5
  CHECK(payload.indices[0] == 1);
  CHECK(payload.values[0] == 5);
  load->compress(std::vector<float>{1, 0}, payload);  // u 1 0
  CHECK(payload.indices[0] == 0);
  CHECK(payload.values[0] == 1);
}

TEST_CASE("loads with feedback of their own, and without any wish for it, stay as they are") {
  CHECK(with_feedback(make_topk_select({}), {})->residual().empty());
  const auto onebit = with_feedback(make_onebit_ef(kOneOfTwo), kOneOfTwo);
  REQUIRE(onebit->prepare(8, 0));
  CHECK(onebit->residual().size() == 8);
}

TEST_CASE("sizes that cannot be are refused, with what would help") {
  for (const LoadEntry& entry : cpu_loads()) {
    CAPTURE(entry.algorithm);
    for (const std::int64_t elements : {std::int64_t{-1}, std::int64_t{4294967296}}) {
      const Result<void> prepared = entry.make({})->prepare(elements, 0);
      REQUIRE_FALSE(prepared);
      CHECK(prepared.error().exit_status == 2);
      CHECK(prepared.error().hint != "");
    }
  }
}
