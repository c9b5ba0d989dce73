// From observed steps to predictions: graphs that replay exactly, the gate, remedies with a known answer, and caps.
#include <doctest/doctest.h>

#include <bit>

#include "analyzers/analyzers.h"
#include "analyzers/predict/draws.h"
#include "analyzers/predict/edits.h"
#include "analyzers/predict/graph_rows.h"
#include "analyzers/predict/half_precision.h"
#include "analyzers/predict/trace_graph.h"
#include "src/model/series_table.h"
#include "tests/unit/analyzers/run_analyzers.h"

namespace gradsync {
namespace {

using test::analyze;
using test::repeat_step;

//   0        20000      35000  40000     55000  60000     70000   90000     100000
//   forward  backward   hook   backward  hook   waits             optimizer
//                              └ 5 ms ┘         └ 10 ms ┘           all-gathers of 4 MB buckets, 64-bit indices
std::string topk_hook(int rank, int seventy = 70000) {
  const std::string number = std::to_string(rank), end = "@" + std::to_string(seventy);
  return "process host=n pid=" + std::to_string(100 + rank) + " clean=1\nfact rank=" + number +
         " world_size=2 device=cpu framework=ddp ddp.gradient_bytes=8000000 hook.kind=custom hook.name=topk\n" +
         repeat_step(
             20, 100000,
             "range forward @0..@20000\n"
             "range backward @20000.." +
                 end +
                 " compute_end_us=@60000\n"
                 "range compress @35000..@40000 name=topk hook=1 bytes=4000000\n"
                 "collective all_gather @40000..@45000 bytes=160000 elements=20000 dtype=int64 group=w async=1 hook=1\n"
                 "range compress @55000..@60000 name=topk hook=1 bytes=4000000\n"
                 "collective all_gather @60000.." +
                 end +
                 " bytes=160000 elements=20000 dtype=int64 group=w async=1 hook=1\n"
                 "range optimizer @90000..@100000");
}

// A byte costs 1 ns: 4 ms for a bucket; gathering 2 × 160 KB 0.32 ms.
Inputs on_fabric(double ns_per_byte = 1) {
  Inputs inputs;
  inputs.run.ranks = 2;
  inputs.run.hosts = {"n"};
  inputs.run.cpus = 16;
  FabricFit fit{"", "gloo", 2, {}};
  for (const char* operation : {"all_reduce", "all_gather"})
    fit.operations[operation] = {{1024, 1 << 26, 0, ns_per_byte * 1e-3}};
  inputs.fabric = fit;
  return inputs;
}

std::string fact(const Conclusions& found, const std::string& name) {
  const auto entry = found.facts.find(name);
  return entry == found.facts.end() ? "" : entry->second;
}

const Metric* saved(const Conclusions& found, const std::string& remedy) {
  return found.metrics.find("predict." + remedy + ".saved_ms", "all");
}

std::string kind_of(const Conclusions& found, const std::string& remedy) {
  for (const SeriesRow& row : rows_of(found.series.at("whatif")))
    if (row.text("remedy") == remedy) return row.text("kind");
  return "absent";
}

// One rank that only computes, with a step of length(number) µs.
template <class Length>
std::string computes(int steps, const Length& length) {
  std::string text = "process host=n pid=7 clean=1\nfact rank=0 world_size=1 device=cpu framework=ddp\n";
  int at = 0;
  for (int step = 0; step < steps; ++step) {
    const int us = length(step);
    const auto time = [&](int after) { return std::to_string(at + after); };
    text += "step " + std::to_string(step) + " " + time(0) + ".." + time(us) + "\n";
    text += "range backward " + time(10000) + ".." + time(us - 10000) + " compute_end_us=" + time(us - 10000) + "\n";
    text += "range optimizer " + time(us - 5000) + ".." + time(us) + "\n";
    at += us;
  }
  return text;
}

}  // namespace

TEST_CASE("a compressed hook on a fast fabric: coding and waiting go, a bucket's transfer stays") {
  const Conclusions found = analyze(topk_hook(0) + topk_hook(1), on_fabric());
  REQUIRE(fact(found, "whatif") == "predicted");
  // Without compression the last bucket is full at 50 ms instead of 60, and sent at 54 instead of 70.
  const Metric* metric = saved(found, "no_compression");
  REQUIRE(metric != nullptr);
  CHECK(metric->value > 15);
  CHECK(metric->value < 16.2);
  CHECK(metric->p10 < metric->value);
  CHECK(metric->p90 > metric->value);
  CHECK(found.metrics.value("predict.no_compression.probability", "all") == 1);
  // 160 KB less from each of two ranks, of which only the last gather is exposed: 0.16 ms.
  CHECK(saved(found, "int32_index")->value == doctest::Approx(0.16).epsilon(0.05));
  CHECK(kind_of(found, "fp16_hook") == "could not judge");  // no cast was measured
  CHECK(kind_of(found, "two_level") == "absent");           // one host
  const auto rows = rows_of(found.series.at("whatif"));
  CHECK(rows[0].text("remedy") == "no_compression");
  CHECK(rows[0].text("worth_trying") == "yes");
}

TEST_CASE("the same hook over a slow fabric: dense buckets would take longer") {
  const Conclusions found = analyze(topk_hook(0) + topk_hook(1), on_fabric(30));  // 120 ms a bucket
  CHECK(saved(found, "no_compression")->value < -150);
  CHECK(found.metrics.value("predict.no_compression.probability", "all") == 0);
}

TEST_CASE("without a fabric: at most what is taken away, and a hint") {
  Inputs inputs = on_fabric();
  inputs.fabric.reset();
  const Conclusions found = analyze(topk_hook(0) + topk_hook(1), inputs);
  CHECK(saved(found, "no_compression") == nullptr);
  CHECK(kind_of(found, "no_compression") == "bound");
  for (const SeriesRow& row : rows_of(found.series.at("whatif"))) {
    if (row.text("remedy") != "no_compression") continue;
    CHECK(*row.number("p50") == doctest::Approx(20));  // 10 ms of coding, 10 ms of waiting
    CHECK(row.text("hint").find("sweep") != std::string::npos);
  }
}

TEST_CASE("reference loads: a faster selection, and half precision") {
  Inputs inputs = on_fabric();
  inputs.loads = {{"topk_histogram", "cpu", 1'000'000, 1, 1, 1},
                  {"cast16", "cpu", 1'000'000, 0.5, 0.5, 0.5, LoadTimes{0.25, 0.25, 0.25}, 1}};
  const Conclusions found = analyze(topk_hook(0) + topk_hook(1), inputs);
  CHECK(saved(found, "histogram_topk")->value == doctest::Approx(8).epsilon(0.05));  // twice 5 ms become twice 1 ms
  // Where sending takes longer: 50 + 2 × 2 of casting and dividing, 14 ms of transfer, 0.25 of widening, instead of 70.
  inputs.fabric = on_fabric(7).fabric;
  const Conclusions slower = analyze(topk_hook(0) + topk_hook(1), inputs);
  CHECK(saved(slower, "fp16_hook")->value == doctest::Approx(70 - 68.25).epsilon(0.2));
  const auto plan = rows_of(found.series.at("bucket_plan"));
  REQUIRE(plan.size() == 2);
  CHECK(plan[0].number("bytes") == 4'000'000);
}

TEST_CASE(
    "half precision on a CPU: by the curve of halves, by that of floats only where sending takes longer than adding") {
  Inputs inputs = on_fabric();  // 2 ms to send a million halves, which a CPU takes 11 ms to add
  inputs.loads = {{"cast16", "cpu", 1'000'000, 0.5, 0.5, 0.5, LoadTimes{0.25, 0.25, 0.25}, 1}};
  const auto row_of = [](const Conclusions& found) {
    for (const SeriesRow& row : rows_of(found.series.at("whatif")))
      if (row.text("remedy") == "fp16_hook") return std::pair{row.text("needs"), row.text("hint")};
    return std::pair<std::string, std::string>();
  };
  const auto methods = [](const Conclusions& found) {
    std::string all;
    for (const SeriesRow& row : rows_of(found.series.at("bucket_plan"))) all += row.text("method") + " ";
    return all;
  };
  const Conclusions unknown = analyze(topk_hook(0) + topk_hook(1), inputs);
  CHECK(kind_of(unknown, "fp16_hook") == "could not judge");
  CHECK(row_of(unknown).first.find("no curve of halves was measured closely enough") != std::string::npos);
  CHECK(row_of(unknown).second == "gradsync-doctor sweep --ranks 2 --op all_reduce --type half");
  CHECK(methods(unknown).find("fp16") == std::string::npos);

  // Without compression the last bucket is full at 50 ms; with 0.5 of casting and 1.5 of dividing for each bucket,
  // 12 of adding and sending and 0.25 of widening the wait ends at 66.25 in place of 70. The plan weighs it alike.
  inputs.fabric->types["half"]["all_reduce"] = {{1024, 1 << 26, 0, 6e-3}};
  const Conclusions slow = analyze(topk_hook(0) + topk_hook(1), inputs);
  REQUIRE(kind_of(slow, "fp16_hook") == "predicted");
  CHECK(saved(slow, "fp16_hook")->value == doctest::Approx(70 - 66.25).epsilon(0.15));
  CHECK(methods(slow).find("fp16") == std::string::npos);
  inputs.fabric->types["half"]["all_reduce"] = {{1024, 1 << 26, 0, 0.1e-3}};
  const Conclusions fast = analyze(topk_hook(0) + topk_hook(1), inputs);
  CHECK(saved(fast, "fp16_hook")->value > saved(slow, "fp16_hook")->value + 8);
  CHECK(methods(fast).find("fp16") != std::string::npos);

  // A curve that ends at 16 KiB says nothing of two million bytes.
  inputs.fabric->types["half"]["all_reduce"] = {{1024, 16384, 0, 0.1e-3}};
  CHECK(kind_of(analyze(topk_hook(0) + topk_hook(1), inputs), "fp16_hook") == "could not judge");
  // A device adds as fast as it sends.
  CHECK(half_cost(*on_fabric().fabric, "all_reduce", 2e6, true)->us == doctest::Approx(2000));
  CHECK_FALSE(half_cost(*on_fabric().fabric, "all_reduce", 2e6, false));
  CHECK(half_cost(*on_fabric().fabric, "all_gather", 2e6, false)->us == doctest::Approx(2000));  // nothing is added
}

TEST_CASE("remedies for several hosts: bounds, and a server for them all") {
  Inputs inputs = on_fabric();
  inputs.run.hosts = {"n", "m"};
  inputs.run.ranks = inputs.fabric->ranks = 4;
  inputs.facts["link.gbits_per_s"] = "100";
  inputs.loads = {{"topk_histogram", "cpu", 1'000'000, 1, 1, 1},
                  {"param_server", "cpu", 1'000'000, 1, 1, 1, LoadTimes{1, 1, 1}, 4}};
  const Conclusions found = analyze(topk_hook(0) + topk_hook(1) + topk_hook(2) + topk_hook(3), inputs);
  REQUIRE(fact(found, "whatif") == "predicted");
  CHECK(kind_of(found, "two_level") == "bound");
  CHECK(kind_of(found, "rdma_bound") == "bound");
  CHECK(kind_of(found, "parameter_server") == "predicted");
  CHECK(kind_of(found, "histogram_topk") == "predicted");
  // Signs of a 4 MB bucket cross in 4 ms / 48: nearly all of 10 ms of coding and 10 ms of waiting.
  const Metric* most = found.metrics.find("bound.two_level.saved_ms", "all");
  REQUIRE(most != nullptr);
  CHECK(most->value > 19.8);
  CHECK(most->value <= 20);
  for (const SeriesRow& row : rows_of(found.series.at("whatif")))
    if (row.text("remedy") == "two_level") CHECK(row.text("needs").find("explain two-level") != std::string::npos);
}

TEST_CASE("steps that do not predict each other: nothing is predicted, and the reason is told") {
  // The steps of one half are longer by more than half.
  const auto half = [](int step) { return std::popcount(static_cast<unsigned>(step)) % 2; };
  const std::string text = computes(24, [&](int step) { return half(step) == 0 ? 50000 : 90000; });
  Inputs inputs = on_fabric();
  inputs.run.ranks = 1;
  const Conclusions found = analyze(text, inputs);
  CHECK(fact(found, "whatif") == "disabled");
  CHECK(fact(found, "whatif.why").find("off the other half") != std::string::npos);
  CHECK_FALSE(found.series.contains("whatif"));
}

TEST_CASE("steps of two kinds: the mean of their lengths, not the length of their mean") {
  // In every second pair of steps the exchange is long and hides nothing; in the others it is hidden.
  std::string text =
      "process host=n pid=7 clean=1\nfact rank=0 world_size=2 device=cpu framework=ddp "
      "ddp.gradient_bytes=4000000 hook.kind=custom hook.name=topk\n";
  int at = 0;
  for (int step = 0; step < 48; ++step) {
    const int waits = step / 2 % 2 == 0 ? 0 : 20000, length = 60000 + waits;
    const auto time = [&](int us) { return std::to_string(at + us); };
    text += "step " + std::to_string(step) + " " + time(0) + ".." + time(length) + "\n";
    text += "range backward " + time(10000) + ".." + time(50000 + waits) + " compute_end_us=" + time(50000) + "\n";
    text += "range compress " + time(20000) + ".." + time(22000) + " name=topk hook=1 bytes=4000000\n";
    text += "collective all_gather " + time(22000) + ".." + time(30000 + 2 * waits) +
            " bytes=160000 elements=20000 dtype=int64 group=w async=1 hook=1\n";
    text += "range optimizer " + time(length - 5000) + ".." + time(length) + "\n";
    at += length;
  }
  Summary summary;
  for (const RankTimeline& rank : test::timelines(text)) make_step_pass()->summarise(rank, on_fabric(), summary);
  const RankGraphs rank = read_graphs(summary).at(0);
  CHECK(rank.graphs.size() == 12);
  CHECK(rank.half->built_ns == doctest::Approx(rank.half->step_ns).epsilon(0.01));
  CHECK(why_not_alike(rank, 1).empty());
}

TEST_CASE("a job that gets slower is not predicted, however alike neighbours are; one that became steady is") {
  Inputs inputs = on_fabric();
  inputs.run.ranks = 1;
  const Conclusions slower = analyze(computes(60, [](int step) { return 50000 + 1000 * step; }), inputs);
  CHECK(fact(slower, "whatif") == "disabled");
  CHECK(fact(slower, "whatif.why").find("drift") != std::string::npos);
  const std::string text = computes(64, [](int step) { return (step < 24 ? 80000 : 50000) + 100 * (step % 5); });
  CHECK(fact(analyze(text, inputs), "whatif") == "predicted");
  Summary summary;
  for (const RankTimeline& rank : test::timelines(text)) make_step_pass()->summarise(rank, inputs, summary);
  CHECK(read_graphs(summary).at(0).all->step_ns == doctest::Approx(50.2e6).epsilon(0.01));  // of the later half alone
}

TEST_CASE("planted edits: the graph of one job, edited, is as long as the other job") {
  const auto graph_of_rank = [](const std::string& text) {
    Summary summary;
    for (const RankTimeline& rank : test::timelines(text)) make_step_pass()->summarise(rank, on_fabric(), summary);
    return read_graphs(summary).at(0).graphs.at(0);
  };
  const StepGraph plain = graph_of_rank(topk_hook(0));
  CHECK(replay(plain).step_ns == doctest::Approx(100e6));
  // Each hook sleeps 5 ms longer: both delay backward, and the last gather is exposed as before.
  StepGraph sleeping = plain;
  for (std::size_t i = 0; i < sleeping.stages.size(); ++i)
    if (sleeping.stages[i].anchor.kind == AnchorKind::issue) sleeping.at(i, StepClass::compress) += 5e6;
  const StepGraph slept = graph_of_rank(
      "process host=n pid=100 clean=1\nfact rank=0 world_size=2 device=cpu framework=ddp ddp.gradient_bytes=8000000 "
      "hook.kind=custom hook.name=topk\n" +
      repeat_step(20, 110000,
                  "range forward @0..@20000\n"
                  "range backward @20000..@80000 compute_end_us=@70000\n"
                  "range compress @35000..@45000 name=topk hook=1 bytes=4000000\n"
                  "collective all_gather @45000..@50000 bytes=160000 elements=20000 dtype=int64 group=w hook=1\n"
                  "range compress @60000..@70000 name=topk hook=1 bytes=4000000\n"
                  "collective all_gather @70000..@80000 bytes=160000 elements=20000 dtype=int64 group=w hook=1\n"
                  "range optimizer @100000..@110000"));
  CHECK(replay(slept).step_ns == doctest::Approx(110e6));
  CHECK(replay(sleeping).step_ns == doctest::Approx(replay(slept).step_ns));
  // Without its last collective nothing is exposed: the first one ends behind backward.
  StepGraph removed = plain;
  removed.exchanges[1].transfer_ns = 0;
  CHECK(replay(removed).step_ns == doctest::Approx(90e6));
  // Both buckets as one, behind the last hook: its price on this fabric and what the price did not explain.
  const auto one = merged(plain, 2, *on_fabric().fabric, Draw{});
  REQUIRE(one);
  CHECK(replay(*one).step_ns == doctest::Approx(90e6 + 5e6 + 10e6));
}

TEST_CASE("work that is taken away takes the time along in which it had no CPU") {
  const auto at = [](StepClass what) { return static_cast<std::size_t>(what); };
  StepGraph graph;
  ClassTimes times{};
  times[at(StepClass::compute)] = 30e6;
  times[at(StepClass::compress)] = 10e6;
  times[at(StepClass::sched_irq)] = 8e6;
  graph.stages = {{times, {AnchorKind::end, -1}}};
  CHECK(coding_ns(graph) == doctest::Approx(12e6));  // a quarter of the delay goes with it
  CHECK(take(graph, StepClass::compress, 10e6) == doctest::Approx(10e6));
  CHECK(replay(graph).step_ns == doctest::Approx(36e6));
}

TEST_CASE("a peer that was late with compression is late without it, but for the share that was compression") {
  const auto compute = static_cast<std::size_t>(StepClass::compute),
             compress = static_cast<std::size_t>(StepClass::compress);
  StepGraph graph;
  ClassTimes backward{}, coding{};
  backward[compute] = 30e6;
  coding[compress] = 10e6;
  graph.bucket_bytes = {4'000'000};
  graph.exchanges = {{"all_gather", "g", "float32", 1000, 0, true, true, 8e6, 1e6}};
  graph.stages = {{backward, {AnchorKind::bucket, 0}},
                  {coding, {AnchorKind::issue, 0}},
                  {{}, {AnchorKind::join, 0}},
                  {{}, {AnchorKind::end, -1}}};
  CHECK(replay(graph).step_ns == doctest::Approx(49e6));
  Job job;
  job.compresses = true;
  const FabricFit fit = *on_fabric().fabric;
  const auto plain = without_compression(graph, job, &fit, Draw{});
  REQUIRE(plain);
  CHECK(replay(*plain).step_ns == doctest::Approx(30e6 + 6e6 + 4e6));  // three quarters of the wait, and the transfer
}

TEST_CASE("the framework's own buckets, which nobody sees, take the time that explains the wait") {
  StepGraph graph;
  ClassTimes forty{}, waiting{};
  forty[static_cast<std::size_t>(StepClass::compute)] = 40e6;
  waiting[static_cast<std::size_t>(StepClass::comm)] = 6e6;
  graph.exchanges = {{"all_reduce", "framework", "float32", 4'000'000, 0, false, false}};
  graph.bucket_bytes = {4'000'000};
  graph.stages = {{forty, {AnchorKind::issue, 0}}, {waiting, {AnchorKind::join, 0}}, {{}, {AnchorKind::end, -1}}};
  const double before = replay(graph).step_ns;
  const FabricFit fit = *on_fabric().fabric;
  std::vector<StepGraph> priced{graph};
  CHECK(price_unseen(fit, priced) == doctest::Approx(1.5));  // 6 ms instead of the 4 of a quiet fabric
  CHECK(replay(priced[0]).step_ns == doctest::Approx(before));
  // Steps share the factor: one that waits for 2 ms and one that waits for 10.
  std::vector<StepGraph> two{graph, graph};
  two[0].stages[1].ns[static_cast<std::size_t>(StepClass::comm)] = 2e6;
  two[1].stages[1].ns[static_cast<std::size_t>(StepClass::comm)] = 10e6;
  CHECK(price_unseen(fit, two) == doctest::Approx(1.5));
  CHECK(replay(two[0]).step_ns == doctest::Approx(before));
  std::vector<StepGraph> strange{graph};
  strange[0].stages[1].ns[static_cast<std::size_t>(StepClass::comm)] = 60e6;
  CHECK(price_unseen(fit, strange) == 0);  // fifteen times the fabric's price: another fabric
  CHECK(replay(strange[0]).step_ns == doctest::Approx(100e6));
}

TEST_CASE("merging buckets: one start-up less, and the first gradients wait for the last") {
  FabricFit fit = *on_fabric().fabric;
  fit.operations["all_reduce"][0].alpha_us = 2000;
  StepGraph graph;
  ClassTimes ten{};
  ten[static_cast<std::size_t>(StepClass::compute)] = 10e6;
  for (std::int64_t i = 0; i < 2; ++i) {
    graph.exchanges.push_back({"all_reduce", "g", "float32", 1'000'000, i, false, true, 0, 3e6});
    graph.bucket_bytes.push_back(1'000'000);
    graph.stages.push_back({ten, {AnchorKind::issue, i}});
  }
  graph.stages.push_back({{}, {AnchorKind::join, 1}});
  graph.stages.push_back({{}, {AnchorKind::end, -1}});
  CHECK(replay(graph).step_ns == doctest::Approx(23e6));
  const auto one = merged(graph, 2, fit, Draw{});
  REQUIRE(one);
  CHECK(replay(*one).step_ns == doctest::Approx(24e6));  // 2 + 2 ms, none of it hidden
}

TEST_CASE("caps: never more than the remedy works on, nor than step minus useful compute") {
  StepGraph graph;
  ClassTimes times{};
  times[static_cast<std::size_t>(StepClass::compute)] = 80e6;
  times[static_cast<std::size_t>(StepClass::idle)] = 20e6;
  graph.stages = {{times, {AnchorKind::end, -1}}};
  const auto vanish = [](const StepGraph& step, const Draw&) {
    StepGraph empty = step;
    empty.stages[0].ns = {};
    return std::optional(empty);
  };
  const auto capped = [&](double ms) {
    const Remedy remedy{
        "x", Judgement::predicted, "", "", vanish, [ms](const StepGraph&, const Replayed&) { return ms * 1e6; }};
    return predict(remedy, {{{graph}, 0}}, {}).p95;
  };
  CHECK(capped(5) == doctest::Approx(5));
  CHECK(capped(1000) == doctest::Approx(20));
}

TEST_CASE("the same input gives the same draws") {
  const Conclusions a = analyze(topk_hook(0) + topk_hook(1), on_fabric());
  const Conclusions b = analyze(topk_hook(0) + topk_hook(1), on_fabric());
  CHECK(a.series.at("whatif").rows.size() == b.series.at("whatif").rows.size());
  CHECK(saved(a, "no_compression")->p10 == saved(b, "no_compression")->p10);
}

}  // namespace gradsync
