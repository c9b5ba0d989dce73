// Every golden case's job, written as a trace (show --perfetto) and read again: the metrics of its ranks, steps and
// collectives are the same to the last bit.
#include <doctest/doctest.h>

#include <map>

#include "collectors/import/doctor_trace.h"
#include "src/base/file.h"
#include "src/commands/examine.h"
#include "src/diagnosis/rule_set.h"
#include "src/export/perfetto.h"
#include "src/timeline/builder.h"
#include "src/timeline/join_ranks.h"
#include "tests/support/folder.h"
#include "tests/support/text_events.h"

namespace gradsync {
namespace {

using Values = std::map<std::pair<std::string, std::string>, double>;

std::vector<RankTimeline> from_text(const std::string& text, const std::vector<NameClass>& range_classes) {
  TimelineBuilder builder(range_classes);
  test::feed(text, builder);
  return builder.build();
}

std::vector<RankTimeline> from_trace(std::vector<RankTimeline> ranks, const std::vector<NameClass>& range_classes) {
  const JoinedRanks joined = join_ranks(ranks);
  std::string text;
  write_trace({ranks, joined.clocks, {}}, [&](std::string_view part) { text += part; });
  const test::Folder folder;
  TimelineBuilder read(range_classes), all(range_classes);
  const Result<Imported> got = import_doctor_trace({folder.put("job.json", text), 1}, read);
  REQUIRE_MESSAGE(got, got.error().message());
  REQUIRE(got->coverage.lost == 0);
  all.absorb(read, "job.json");
  return all.build();
}

// What the doctor knows of its own cost and of the fits of clocks is not in a trace.
Values values_of(const Report& report) {
  Values values;
  for (const Metric& metric : report.metrics)
    if (!metric.name.starts_with("observer.") && metric.name != "clock.residual_us" &&
        metric.name != "straggler.late_over_residual")
      values[{metric.name, metric.scope}] = metric.value;
  return values;
}

TEST_CASE("a trace tells the same job") {
  const auto rules = builtin_rules();
  REQUIRE(rules);
  Inputs inputs;
  load_name_classes(*rules, inputs);
  int cases = 0;
  for (const auto& entry : std::filesystem::directory_iterator(GSD_GOLDEN_CASES)) {
    const auto events = read_file(entry.path() / "events.txt");
    if (!events) continue;
    CAPTURE(entry.path().string());
    const auto told = [&](std::vector<RankTimeline> ranks) { return conclude(std::move(ranks), inputs, *rules, {}); };
    const Report before = told(from_text(*events, inputs.range_classes));
    const Report after = told(from_trace(from_text(*events, inputs.range_classes), inputs.range_classes));
    CHECK(after.run.ranks == before.run.ranks);
    CHECK(after.run.steps == before.run.steps);
    const Values here = values_of(before), there = values_of(after);
    for (const auto& [key, value] : here) {
      CAPTURE(key.first);
      CAPTURE(key.second);
      const auto again = there.find(key);
      REQUIRE(again != there.end());
      CHECK(again->second == value);
    }
    CHECK(there.size() == here.size());
    ++cases;
  }
  CHECK(cases > 40);
}

}  // namespace
}  // namespace gradsync
