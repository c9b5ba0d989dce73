// Traces whose device times another analyser has computed, and a separate recomputation from the raw events
// (hta-reference.json beside the traces): ours must agree. tests/README.md explains the two definitions.
#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "src/commands/examine.h"
#include "src/commands/foreign_files.h"
#include "src/diagnosis/rule_set.h"
#include "src/timeline/intervals.h"
#include "tests/unit/import/trace_files.h"

namespace gradsync {
namespace {

using Json = nlohmann::json;

std::optional<Json> reference() {
  const auto folder = test::corpus();
  if (!folder) return std::nullopt;
  std::ifstream in(*folder / "hta-reference.json");
  if (!in) return std::nullopt;
  std::string text{std::istreambuf_iterator<char>(in), {}};
  for (std::size_t at = 0; (at = text.find(" NaN", at)) != std::string::npos;) text.replace(at, 4, " null");
  return Json::parse(text);
}

ForeignJob read(const std::string& file) {
  Result<ForeignJob> job = read_foreign_files({*test::corpus() / "kineto" / file}, {}, 1);
  REQUIRE(job);
  return std::move(*job);
}

struct DeviceNumbers {
  double idle = 0, span = 0, compute = 0, overlap_percent = 0;
  bool communicates = false;
};

DeviceNumbers reported(const std::string& file) {
  ForeignJob job = read(file);
  REQUIRE(job.ranks.size() == 1);
  const std::string scope = "rank:" + std::to_string(job.ranks.front().rank);
  const Report report = conclude(job.ranks, job.inputs, RuleSet{}, {});
  DeviceNumbers numbers;
  for (const Metric& metric : report.metrics) {
    if (metric.scope != scope) continue;
    if (metric.name == "gpu.idle_us") numbers.idle = metric.value;
    if (metric.name == "gpu.span_us") numbers.span = metric.value;
    if (metric.name == "gpu.compute_us") numbers.compute = metric.value;
    if (metric.name == "gpu.comm_overlap_percent") {
      numbers.overlap_percent = metric.value;
      numbers.communicates = true;
    }
  }
  return numbers;
}

double number_or_zero(const Json& value) { return value.is_number() ? value.get<double>() : 0; }

enum class Stamps { exact, whole_microseconds };

bool in_whole_microseconds(const RankTimeline& rank) {
  return std::all_of(rank.events.begin(), rank.events.end(), [](const Event& event) {
    return !event.on_stream() || (event.start % 1000 == 0 && event.end % 1000 == 0);
  });
}

// The reference's own filter: of several steps the last is dropped, and with it everything on the device whose call on
// the host began in it or is not in the trace. In whole microseconds starts are rounded up and ends down.
DeviceNumbers filtered(const RankTimeline& rank, Stamps stamps) {
  static const std::regex comm("(^nccl.*)|(^hip)|(^hccl)|(.*ncclKernel.*)");
  Nanoseconds last_step = 0;
  int steps = 0;
  for (const Event& event : rank.events)
    if (event.kind == Kind::step || rank.name(event).starts_with("ProfilerStep#")) {
      if (event.on_stream()) continue;
      ++steps;
      last_step = std::max(last_step, event.start);
    }
  std::set<std::uint64_t> called;
  for (const Event& event : rank.events)
    if ((event.kind == Kind::host_call || event.kind == Kind::host_sync) && event.start < last_step)
      called.insert(event.correlation);
  std::vector<Interval> all, compute, communication;
  Nanoseconds first = 0, last = 0;
  for (const Event& event : rank.events) {
    const bool timed = event.kind == Kind::kernel || event.kind == Kind::collective || event.kind == Kind::copy ||
                       event.kind == Kind::memset;
    if (!timed || !event.on_stream() || (steps > 1 && !called.contains(event.correlation))) continue;
    const Interval rounded = stamps == Stamps::exact
                                 ? Interval{event.start, event.end}
                                 : Interval{(event.start + 999) / 1000 * 1000, event.end / 1000 * 1000};
    if (all.empty() || rounded.start < first) first = rounded.start;
    last = std::max(last, rounded.end);
    all.push_back(rounded);
    const std::string_view told = event.kind == Kind::collective ? rank.text(event, "kernel") : rank.name(event);
    if (std::regex_search(told.begin(), told.end(), comm))
      communication.push_back(rounded);
    else if (event.kind == Kind::kernel || event.kind == Kind::collective)
      compute.push_back(rounded);
  }
  DeviceNumbers numbers;
  if (all.empty()) return numbers;
  const IntervalSet computing(compute), communicating(communication);
  numbers.span = static_cast<double>(last - first) * 1e-3;
  numbers.idle = numbers.span - static_cast<double>(IntervalSet(all).length()) * 1e-3;
  numbers.compute = static_cast<double>(computing.length()) * 1e-3;
  numbers.communicates = communicating.length() > 0;
  if (numbers.communicates)
    numbers.overlap_percent = 100 * static_cast<double>(intersect(computing, communicating).length()) /
                              static_cast<double>(communicating.length());
  return numbers;
}

bool close_to(double ours, double theirs, double allowed) { return std::abs(ours - theirs) <= allowed; }

// The recomputation from the raw events: 0.1 % of the span, 0.1 percentage point of overlap.
void check_against(const DeviceNumbers& ours, const Json& expected) {
  const double span = expected.at("span_us").get<double>();
  CHECK_MESSAGE(close_to(ours.span, span, 0.001 * span), ours.span, " ", span);
  const double idle = expected.at("idle_us").get<double>();
  CHECK_MESSAGE(close_to(ours.idle, idle, 0.001 * span), ours.idle, " ", idle);
  const double compute = expected.at("comp_union_us").get<double>();
  CHECK_MESSAGE(close_to(ours.compute, compute, 0.001 * span), ours.compute, " ", compute);
  const double overlap = number_or_zero(expected.at("overlap_pct_of_comm"));
  CHECK_MESSAGE(close_to(ours.overlap_percent, overlap, 0.1), ours.overlap_percent, " ", overlap);
}

}  // namespace

TEST_CASE("device times agree with a recomputation from the raw events, on every trace") {
  const std::optional<Json> all = reference();
  if (!all) {
    MESSAGE("skipped: GSD_CORPUS names no folder with hta-reference.json");
    return;
  }
  int compared = 0;
  for (const auto& [name, trace] : all->at("traces").items())
    for (const auto& [file, check] : trace.at("independent_check").items()) {
      CAPTURE(file);
      const Json& expected = check.at("all_events");
      if (expected.is_null()) {  // nothing on a device
        CHECK(reported(file).span == 0);
        continue;
      }
      const DeviceNumbers ours = reported(file);
      ++compared;
      check_against(ours, expected);
    }
  MESSAGE("traces compared: ", compared);
  CHECK(compared > 30);
}

TEST_CASE("without the last step, as the reference filters: the recomputation's numbers") {
  const std::optional<Json> all = reference();
  if (!all) {
    MESSAGE("skipped: GSD_CORPUS names no folder with hta-reference.json");
    return;
  }
  int compared = 0;
  for (const auto& [name, trace] : all->at("traces").items())
    for (const auto& [file, check] : trace.at("independent_check").items()) {
      if (!check.contains("hta_like_without_last_step") || check.at("hta_like_without_last_step").is_null()) continue;
      CAPTURE(file);
      ++compared;
      const Json& expected = check.at("hta_like_without_last_step");
      const DeviceNumbers ours = filtered(read(file).ranks.at(0), Stamps::exact);
      check_against(ours, expected);
    }
  MESSAGE("traces compared: ", compared);
  CHECK(compared > 20);
}

TEST_CASE("with the reference's own filter and rounding, its own numbers, where stamps are whole microseconds") {
  const std::optional<Json> all = reference();
  if (!all) {
    MESSAGE("skipped: GSD_CORPUS names no folder with hta-reference.json");
    return;
  }
  int compared = 0;
  for (const auto& [name, trace] : all->at("traces").items()) {
    if (!trace.at("default").contains("temporal_breakdown")) continue;
    if (!trace.at("default").at("temporal_breakdown").is_array()) continue;  // it failed there
    for (const Json& row : trace.at("default").at("temporal_breakdown")) {
      const std::string rank = std::to_string(row.at("rank").get<int>());
      const double span = number_or_zero(row.at("kernel_time(us)"));
      if (!trace.at("files").contains(rank) || span <= 0) continue;
      const std::string file = trace.at("files").at(rank).get<std::string>();
      if (trace.at("independent_check").at(file).at("all_events").is_null()) continue;  // no GPU: MTIA's own device
      CAPTURE(file);
      const RankTimeline timeline = std::move(read(file).ranks.at(0));
      if (!in_whole_microseconds(timeline)) continue;
      ++compared;
      const DeviceNumbers ours = filtered(timeline, Stamps::whole_microseconds);
      CHECK_MESSAGE(close_to(ours.span, span, 0.005 * span), ours.span, " ", span);
      CHECK(close_to(ours.idle, row.at("idle_time(us)").get<double>(), 0.005 * span));
      CHECK(close_to(ours.compute, row.at("compute_time(us)").get<double>(), 0.005 * span));
      for (const Json& overlap : trace.at("default").at("comm_comp_overlap"))
        if (overlap.is_object() && overlap.at("rank") == row.at("rank") &&
            overlap.at("comp_comm_overlap_pctg").is_number())
          CHECK(close_to(ours.overlap_percent, overlap.at("comp_comm_overlap_pctg").get<double>(), 0.5));
    }
  }
  MESSAGE("ranks compared: ", compared);
  CHECK(compared > 30);
}

}  // namespace gradsync
