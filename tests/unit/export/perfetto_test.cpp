// A job's trace: what viewers draw of it, and that importing it gives the same job again.
#include "src/export/perfetto.h"

#include <doctest/doctest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "collectors/import/doctor_trace.h"
#include "collectors/import/recognise.h"
#include "src/timeline/builder.h"
#include "src/timeline/join_ranks.h"
#include "tests/support/folder.h"
#include "tests/support/text_events.h"

namespace gradsync {
namespace {

using Json = nlohmann::json;

std::vector<RankTimeline> ranks_of(const std::string& text) {
  TimelineBuilder builder;
  test::feed(text, builder);
  return builder.build();
}

struct Written {
  std::string text;
  TraceTally tally;
  std::vector<Json> events;
};

Written written(std::vector<RankTimeline>& ranks, const SeriesSet& series = {}) {
  const JoinedRanks joined = join_ranks(ranks);
  Written out;
  out.tally = write_trace({ranks, joined.clocks, series}, [&](std::string_view part) { out.text += part; });
  const Json trace = Json::parse(out.text);
  for (const Json& event : trace.at("traceEvents")) out.events.push_back(event);
  return out;
}

std::vector<Json> of_phase(const Written& trace, const std::string& phase, const std::string& category = "") {
  std::vector<Json> found;
  for (const Json& event : trace.events)
    if (event.at("ph") == phase && (category.empty() || event.value("cat", "") == category)) found.push_back(event);
  return found;
}

std::string thread_name(const Written& trace, const Json& event) {
  for (const Json& other : of_phase(trace, "M"))
    if (other.at("name") == "thread_name" && other.at("tid") == event.at("tid") && other.at("pid") == event.at("pid"))
      return other.at("args").at("name");
  return "";
}

std::vector<RankTimeline> imported(const std::string& trace) {
  const test::Folder folder;
  const auto path = folder.put("job.json", trace);
  REQUIRE(recognise(path)->format->name == "gradsync-doctor trace");
  TimelineBuilder read, all;
  const Result<Imported> got = import_doctor_trace({path, 1}, read);
  REQUIRE_MESSAGE(got, got.error().message());
  CHECK(got->coverage.state == CoverageState::collected);
  all.absorb(read, path.string());
  return all.build();
}

// Everything of an event that does not depend on how a timeline numbers things.
std::string described(const RankTimeline& rank, const Event& event) {
  std::string text = std::string(to_string(event.kind)) + " " + std::string(to_string(event.phase)) + " " +
                     std::string(to_string(event.source)) + " " + std::string(rank.name(event)) + " " +
                     std::to_string(event.start) + ".." + std::to_string(event.end) + " flags " +
                     std::to_string(event.flags) + " bytes " + std::to_string(event.bytes) + " seq " +
                     std::to_string(event.sequence) + " stream " + std::to_string(event.on_stream());
  text += event.kind == Kind::step ? " variant " + std::to_string(static_cast<std::uint32_t>(event.group))
                                   : " group " + std::string(rank.name(event.group));
  for (const char* key : {"dtype", "site", "say"}) text += " " + std::string(rank.text(event, key));
  for (const char* key : {"elements", "compute_end_ns"})
    text += " " + std::to_string(rank.integer(event, key).value_or(-1));
  return text;
}

std::vector<std::string> described(const RankTimeline& rank) {
  std::vector<std::string> all;
  for (const Event& event : rank.events) all.push_back(described(rank, event));
  return all;
}

const std::string kTwoRanks = R"(
process host=node0 pid=100 clean=1
lane 1 tid=4000 name=MainThread
fact rank=0 world_size=2 backend=gloo device=cpu env.nccl_debug=INFO
step 7 1000..51000
range forward 1000..9000 name=Net.forward lane=1
range backward 10000..36000 name=backward lane=1 compute_end_us=24000
collective all_reduce 20000..33000 lane=1 bytes=4096 elements=1024 dtype=float32 group=world seq=1 id=5 async=1 hook=1 site=a.py:3
collective all_reduce 24000..35000 lane=1 bytes=8192 group=world seq=2 id=6 async=1
wait 30000..35000 on=6 lane=1
mark note 40000..40000 lane=1 say="he said \"so\""
process host=node0 pid=101 clean=1
fact rank=1 world_size=2 backend=gloo device=cpu
step 7 1200..51000
collective all_reduce 25000..33000 bytes=4096 group=world seq=1
collective all_reduce 26000..35000 bytes=8192 group=world seq=2
)";

TEST_CASE("importing the trace gives the same ranks, steps, collectives and attributes") {
  std::vector<RankTimeline> before = ranks_of(kTwoRanks);
  const Written trace = written(before);
  CHECK(trace.tally.events == 10);
  const std::vector<RankTimeline> after = imported(trace.text);
  REQUIRE(after.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    CAPTURE(i);
    CHECK(after[i].rank == before[i].rank);
    CHECK(described(after[i]) == described(before[i]));
    REQUIRE(after[i].steps.size() == 1);
    CHECK(after[i].steps[0].number == 7);
    CHECK(after[i].steps[0].start == before[i].steps[0].start);
    CHECK(after[i].fact("world_size") == "2");
    CHECK(after[i].clock == after[0].clock);
  }
  CHECK(after[0].fact("env.nccl_debug") == "");  // settings of the environment stay in the recording
  CHECK(after[0].training_lane.has_value());
  const auto wait = std::find_if(after[0].events.begin(), after[0].events.end(),
                                 [](const Event& event) { return event.kind == Kind::wait; });
  const auto awaited = std::find_if(after[0].events.begin(), after[0].events.end(),
                                    [&](const Event& event) { return event.reference == (*wait).correlation; });
  REQUIRE(awaited != after[0].events.end());
  CHECK((*awaited).bytes == 8192);
}

TEST_CASE("ranks are processes; what overlaps has rows of its own, and rows nest") {
  std::vector<RankTimeline> ranks = ranks_of(kTwoRanks);
  const Written trace = written(ranks);
  std::set<std::string> processes;
  for (const Json& event : of_phase(trace, "M"))
    if (event.at("name") == "process_name") processes.insert(event.at("args").at("name"));
  CHECK(processes == std::set<std::string>{"rank 0 (node0, process 100)", "rank 1 (node0, process 101)"});
  const std::vector<Json> collectives = of_phase(trace, "X", "collective");
  REQUIRE(collectives.size() == 4);
  CHECK(thread_name(trace, collectives[0]) == "MainThread: collectives");
  CHECK(thread_name(trace, collectives[1]) == "MainThread: collectives (2)");
  CHECK(thread_name(trace, of_phase(trace, "X", "range")[0]) == "MainThread");
  CHECK(of_phase(trace, "X", "step")[0].at("name") == "step 7");
  CHECK(collectives[0].at("args").at("bytes") == 4096);
  CHECK(collectives[0].at("args").at("gsd.members") == 2);

  std::map<std::pair<int, int>, std::vector<std::pair<double, double>>> open;
  for (const Json& event : of_phase(trace, "X")) {
    const double start = event.at("ts"), end = start + event.at("dur").get<double>();
    auto& stack = open[{event.at("pid"), event.at("tid")}];
    while (!stack.empty() && stack.back().second <= start) stack.pop_back();
    CHECK((stack.empty() || stack.back().second >= end));
    stack.emplace_back(start, end);
  }
}

TEST_CASE("an arrow goes through the ranks of one collective in the order of arrival") {
  std::vector<RankTimeline> ranks = ranks_of(kTwoRanks);
  const Written trace = written(ranks);
  CHECK(trace.tally.arrows == 2);
  const std::vector<Json> from = of_phase(trace, "s", "collective"), to = of_phase(trace, "f", "collective");
  REQUIRE(from.size() == 2);
  REQUIRE(to.size() == 2);
  CHECK(from[0].at("pid") == 1);
  CHECK(to[0].at("pid") == 2);
  CHECK(from[0].at("id") == to[0].at("id"));
  CHECK(from[0].at("id") != from[1].at("id"));
  CHECK(from[0].at("ts") < to[0].at("ts"));
}

TEST_CASE("kernels are linked to the calls that launched them") {
  std::vector<RankTimeline> ranks = ranks_of(R"(
process host=node0 pid=100
fact rank=0
step 0 0..1000
host_call cudaLaunchKernel 90..95 lane=1 corr=12
kernel gemm 100..200 stream=7 corr=12
host_call cudaLaunchKernel 300..310 lane=1 corr=13
)");
  const Written trace = written(ranks);
  CHECK(trace.tally.launches == 1);
  REQUIRE(of_phase(trace, "s", "launch").size() == 1);
  CHECK(of_phase(trace, "f", "launch").size() == 1);
}

TEST_CASE("waits and interrupts are drawn on CPUs, and found again") {
  const std::string text = std::string(kTwoRanks) + R"(
process host=node0 pid=900
sched_wait python3 500..700 bytes=100 seq=4000 group=burn:911 source=host corr=4
sched_wait python3 2000..3000 bytes=100 seq=4000 group=burn:911 source=host corr=4
irq python3 2100..2200 bytes=101 seq=4001 group=eth0 source=host corr=4
window sched_trace 0..60000 source=host
)";
  std::vector<RankTimeline> before = ranks_of(text);
  REQUIRE(before[0].host_events.size() == 3);
  const Written trace = written(before);
  const std::vector<Json> waits = of_phase(trace, "X", "sched_wait");
  REQUIRE(waits.size() == 2);
  for (const Json& event : of_phase(trace, "X")) CHECK(event.at("ts") >= 0);  // also of what was there before the job
  CHECK(waits[0].at("name") == "waits: python3");
  CHECK(thread_name(trace, waits[0]) == "CPU 3");
  CHECK(of_phase(trace, "X", "irq")[0].at("name") == "irq eth0");
  CHECK(of_phase(trace, "X", "window").size() == 1);  // once, though every rank has it
  const std::vector<RankTimeline> after = imported(trace.text);
  REQUIRE(after.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    REQUIRE(after[i].host_events.size() == before[i].host_events.size());
    for (std::size_t k = 0; k < after[i].host_events.size(); ++k) {
      CHECK(after[i].host_events[k].start == before[i].host_events[k].start);
      CHECK(after[i].name(after[i].host_events[k].group) == before[i].name(before[i].host_events[k].group));
    }
  }
}

TEST_CASE("counters are drawn: values, and rates of what counts up") {
  std::vector<RankTimeline> ranks = ranks_of(kTwoRanks);
  SeriesSet series;
  series["gpu_samples"] = {"gpu_samples",
                           {"machine", "device", "at_ns", "sm_mhz"},
                           {{std::string("node0"), std::string("gpu0"), std::int64_t{500'000}, 210.0},
                            {std::string("node0"), std::string("gpu0"), std::int64_t{2'000'000}, 1980.0}}};
  series["nic_samples"] = {"nic_samples",
                           {"machine", "device", "at_ns", "rx_bytes", "tx_bytes"},
                           {{std::string("node0"), std::string("eth0"), std::int64_t{1'000'000}, 100.0, 5.0},
                            {std::string("node0"), std::string("eth0"), std::int64_t{501'000'000}, 600.0, 0.0}}};
  const Written trace = written(ranks, series);
  CHECK(trace.tally.counters == 2);
  const std::vector<Json> counters = of_phase(trace, "C");
  REQUIRE(counters.size() == 2);
  CHECK(counters[0].at("name") == "gpu0 sm_mhz");
  CHECK(counters[0].at("args").at("value") == 1980);
  CHECK(counters[0].at("ts") == 1000);  // after the first event
  CHECK(counters[1].at("name") == "eth0 rx_bytes_per_s");
  CHECK(counters[1].at("args").at("value") == 1000);  // tx counted down: it was reset
}

TEST_CASE("ranks without a common clock begin at 0 each, without arrows between them, and stay apart") {
  std::vector<RankTimeline> ranks = ranks_of(R"(
process host=a pid=1
fact rank=0
step 0 1000000..1050000
collective all_reduce 1010000..1020000 bytes=8 group=world seq=1
process host=b pid=1
fact rank=1
step 0 900..50900
collective all_reduce 10900..20900 bytes=8 group=world seq=1
)");
  const Written trace = written(ranks);
  CHECK(Json::parse(trace.text).at("clocks") == "apart");
  CHECK(trace.tally.arrows == 0);
  for (const Json& step : of_phase(trace, "X", "step")) CHECK(step.at("ts") == 0);
  const std::vector<RankTimeline> after = imported(trace.text);
  REQUIRE(after.size() == 2);
  CHECK(after[0].clock != after[1].clock);
  CHECK(after[0].steps[0].start == 1'000'000'000);
  CHECK(after[1].steps[0].start == 900'000);
}

TEST_CASE("names that are no text and steps that nobody told") {
  std::string text = "process host=a pid=1\nfact rank=0\n";
  for (int i = 0; i < 12; ++i)
    text += "range optimizer " + std::to_string(i * 1000) + ".." + std::to_string(i * 1000 + 900) +
            " name=bad\xff\x01 lane=1\n";
  std::vector<RankTimeline> ranks = ranks_of(text);
  REQUIRE(ranks[0].step_source == StepSource::repetition);
  const Written trace = written(ranks);
  CHECK(of_phase(trace, "X", "derived").size() == 11);
  CHECK(of_phase(trace, "X", "range")[0].at("name") == "bad\xef\xbf\xbd\x01");
  CHECK(imported(trace.text)[0].steps.size() == 11);
}

TEST_CASE("a trace that is cut, or broken inside, is read as far as it goes and says so") {
  std::vector<RankTimeline> ranks = ranks_of(kTwoRanks);
  const std::string whole = written(ranks).text;
  const test::Folder folder;
  for (const std::string& text :
       {whole.substr(0, whole.size() / 2),
        whole.substr(0, whole.rfind("\"ph\":\"X\"")) + "!" + whole.substr(whole.rfind("\"ph\":\"X\"") + 1)}) {
    TimelineBuilder builder;
    const Result<Imported> got = import_doctor_trace({folder.put("t.json", text), 1}, builder);
    REQUIRE(got);
    CHECK(got->coverage.state == CoverageState::partial);
    CHECK(got->coverage.lost > 0);
    CHECK(!builder.build().empty());
  }
  CHECK(!is_doctor_trace(R"({"traceEvents":[{"name":"\"gradsyncTrace\":1"}]})"));
  CHECK(is_doctor_trace("{ \"gradsyncTrace\":1,"));
}

}  // namespace
}  // namespace gradsync
