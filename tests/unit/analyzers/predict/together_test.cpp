// Remedies at once: no more than the step bears, none that exclude each other.
#include "analyzers/predict/together.h"

#include <doctest/doctest.h>

#include "analyzers/predict/draws.h"
#include "analyzers/predict/edits.h"

namespace gradsync {
namespace {

constexpr auto kCompute = static_cast<std::size_t>(StepClass::compute),
               kSync = static_cast<std::size_t>(StepClass::host_sync);

// 60 ms of compute and 10 of host sync, beside an exchange of 80 ms that the end waits for: 90 ms.
StepGraph step() {
  StepGraph graph;
  ClassTimes ten{}, rest{};
  ten[kCompute] = 10e6;
  rest[kCompute] = 50e6;
  rest[kSync] = 10e6;
  graph.exchanges = {{"all_gather", "g", "float32", 1000, 0, true, true, 0, 80e6}};
  graph.stages = {{ten, {AnchorKind::issue, 0}}, {rest, {AnchorKind::join, 0}}, {{}, {AnchorKind::end, -1}}};
  return graph;
}

Remedy remedy(const std::string& name, double exchange_ns, double sync_ns) {
  return {name,
          Judgement::predicted,
          "do " + name,
          "",
          [=](const StepGraph& graph, const Draw&) {
            StepGraph edited = graph;
            if (exchange_ns > 0)
              edited.exchanges[0].transfer_ns = std::max(0.0, edited.exchanges[0].transfer_ns - exchange_ns);
            take(edited, StepClass::host_sync, sync_ns);
            return std::optional(edited);
          },
          [](const StepGraph&, const Replayed&) { return 1e9; }};
}

}  // namespace

TEST_CASE("one frees what the other then shortens: together more than the sum, but no less than compute") {
  const Remedy gathers = remedy("int32_index", 40e6, 0), sync = remedy("no_host_sync", 0, 10e6);
  const auto saved = [](const Remedy& one) { return predict(one, {{{step()}, 0}}, {}).p50; };
  CHECK(saved(gathers) == doctest::Approx(20));  // until host sync is what the step waits for
  CHECK(saved(sync) == doctest::Approx(0));      // hidden behind the exchange
  const std::optional<Remedy> both = together({gathers, sync}, {step()});
  REQUIRE(both);
  CHECK(both->name == "int32_index + no_host_sync");
  CHECK(both->needs == "do int32_index; do no_host_sync");
  CHECK(saved(*both) == doctest::Approx(30));  // step minus useful compute
}

TEST_CASE("the order of gains chooses, the order of the step applies") {
  const std::optional<Remedy> both =
      together({remedy("no_host_sync", 0, 10e6), remedy("int32_index", 70e6, 0)}, {step()});
  CHECK_FALSE(both);  // the first saves nothing alone, so it is not taken
  const std::optional<Remedy> three = together(
      {remedy("int32_index", 60e6, 0), remedy("fp16_hook", 70e6, 0), remedy("no_host_sync", 0, 10e6)}, {step()});
  REQUIRE(three);
  CHECK(three->name == "int32_index + no_host_sync");
}

TEST_CASE("what excludes what") {
  struct Case {
    const char *a, *b;
    bool exclude;
  };
  for (const Case& one : {Case{"no_compression", "fp16_hook", true}, Case{"no_compression", "int32_index", true},
                          Case{"fp16_hook", "histogram_topk", true}, Case{"histogram_topk", "unsorted_topk", true},
                          Case{"int32_index", "histogram_topk", false}, Case{"no_compression", "no_host_sync", false},
                          Case{"bucket_size", "no_compression", false}, Case{"no_straggler", "fp16_hook", false}}) {
    CAPTURE(one.a);
    CAPTURE(one.b);
    CHECK(conflict(one.a, one.b) == one.exclude);
    CHECK(conflict(one.b, one.a) == one.exclude);
  }
}

TEST_CASE("one alone is not several") { CHECK_FALSE(together({remedy("int32_index", 40e6, 0)}, {step()})); }

}  // namespace gradsync
