#include "collectors/fabric/call_word.h"

#include <doctest/doctest.h>

namespace gradsync {
namespace {

WarmUp fed(std::optional<double> known, const std::vector<double>& times) {
  WarmUp warm(known);
  for (const double us : times) warm.add(us);
  return warm;
}

}  // namespace

TEST_CASE("words of a call and of a visit come back as they were said") {
  CallWord word;
  word.ready_ns = 123456789012345;
  word.slack_ns = -17;
  word.stop = true;
  word.begin_ns = -5;
  word.us = 12.3456789012345;
  const auto heard = decode_call(encode(word));
  REQUIRE(heard);
  CHECK(heard->ready_ns == word.ready_ns);
  CHECK(heard->slack_ns == -17);
  CHECK(heard->stop);
  CHECK(heard->begin_ns == -5);
  CHECK(heard->us == word.us);
  CHECK(std::isnan(heard->graph_us));
  CHECK(!decode_call(encode(CallWord()))->has_call());

  const SweepVisit visit{{FabricOperation::all_to_all, ElementType::int8, 77}, 3, true};
  const auto same = decode_visit(encode(visit));
  REQUIRE(same);
  CHECK(same->call.operation == FabricOperation::all_to_all);
  CHECK(same->call.type == ElementType::int8);
  CHECK(same->call.elements == 77);
  CHECK(same->repeats == 3);
  CHECK(same->loaded);
}

TEST_CASE("words that are not those of a sweep are not understood") {
  for (const char* text : {"", "1 2 3 4 5", "1 2 3 4 5 6 7", "1 2 x 4 5 6", "1 2 3 4 five 6", "1e3 2 0 4 5 6"}) {
    CAPTURE(text);
    CHECK(!decode_call(text));
  }
  for (const char* text : {"", "end", "all_reduce float 0 1 0", "all_reduce float 5 0 0", "all_reduce double 5 1 0",
                           "allreduce float 5 1 0", "all_reduce float 99999999999999999999 1 0"}) {
    CAPTURE(text);
    CHECK(!decode_visit(text));
  }
}

TEST_CASE("a call takes as long as on the slowest rank, and the skew is between the first and the last start") {
  CallWord early, late;
  early.begin_ns = 1000;
  early.us = 50;
  late.begin_ns = 8500;
  late.us = 42;
  late.graph_us = 7;
  const SweepSample sample = joined({late, early, late});
  CHECK(sample.us == 50);
  CHECK(sample.skew_us == 7.5);
  CHECK(sample.graph_us == 7);
  CHECK(std::isnan(sample.wrong));
}

TEST_CASE("the start is after the last rank is ready, later when an answer came too late") {
  StartMargin margin;
  CallWord first, second;
  first.ready_ns = 5'000'000;
  second.ready_ns = 9'000'000;
  first.slack_ns = second.slack_ns = 40'000;
  const std::int64_t usual = margin.start_ns({first, second}) - 9'000'000;
  CHECK(usual > 0);
  second.slack_ns = -500'000;
  CHECK(margin.start_ns({first, second}) - 9'000'000 == usual + 540'000);
  second.slack_ns = -1'000'000'000;
  CHECK(margin.start_ns({first, second}) - 9'000'000 == 10'000'000);
  first.slack_ns = second.slack_ns = 5'000'000;
  for (int call = 0; call < 100; ++call) margin.start_ns({first, second});
  CHECK(margin.start_ns({first, second}) - 9'000'000 == 60'000);
}

TEST_CASE("a size is warm when its times stand still, or after fifty calls or two seconds") {
  CHECK(!fed({}, {100, 100, 100, 100, 100}).done());
  CHECK(fed({}, {100, 100, 100, 100, 100, 100}).done());
  CHECK(fed({}, {900, 100, 100, 100, 95, 105}).done());    // one slow call on each side is no trend
  CHECK(!fed({}, {400, 300, 250, 200, 150, 120}).done());  // still getting faster
  CHECK(!fed({}, {100, 100, 100, 400, 100, 150}).done());  // 100 to 150
  std::vector<double> restless;
  for (int call = 0; call < 50; ++call) restless.push_back(call % 6 < 3 ? 100 : 200);
  CHECK(fed({}, restless).done());
  restless.pop_back();
  CHECK(!fed({}, restless).done());
  CHECK(fed({}, {9e5, 7e5, 8e5}).done());
  CHECK(!fed({}, {3e6, 1e5}).done());
}

TEST_CASE("a size that was warm before needs two calls, or until it is as fast as then") {
  CHECK(!fed(100, {100}).done());
  CHECK(fed(100, {500, 100}).done());
  CHECK(!fed(100, {500, 200}).done());
  CHECK(fed(100, {500, 200, 150}).done());
  CHECK(fed(100, std::vector<double>(10, 1000)).done());
  CHECK(fed(100, {1.5e6, 1.5e6}).done());
}

}  // namespace gradsync
