// The NCCL backend as a sweep uses it, over the fakes: every operation and type, by two, three and eight processes.
#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "tests/fabric/fake_ranks.h"
#include "tests/fabric/rank_sweep.h"

using namespace gradsync;

namespace {

constexpr FabricCall kSmallSum{FabricOperation::all_reduce, ElementType::float32, 256};

// What is not right about a row; empty: nothing.
std::string complaint(const RankRow& row, int ranks) {
  std::ostringstream text;
  const auto name = [&] { return std::string(to_string(row.call.operation)) + " " + to_string(row.call.type) + ": "; };
  if (row.wrong != 0) text << name() << row.wrong << " wrong; ";
  for (const FabricTiming& timing : row.timings) {
    const double host_us = static_cast<double>(timing.end_ns - timing.begin_ns) / 1000;
    if (!timing.device_us || !timing.graph_us) {
      text << name() << "a time is missing; ";
      continue;
    }
    // The events lie between the host's two looks at the clock (which float milliseconds round).
    if (*timing.device_us <= 0 || *timing.device_us > host_us + 1) text << name() << *timing.device_us << " us; ";
    if (*timing.graph_us <= 0) text << name() << "graph " << *timing.graph_us << " us; ";
  }
  const double busbw = bus_gbytes_per_s(row.call, ranks, median_device_us(row));
  if (!std::isfinite(busbw) || busbw <= 0) text << name() << busbw << " GB/s; ";
  return text.str();
}

std::string complaints(FabricBackend& backend, const RankSweep& sweep) {
  const auto rows = sweep_rank(backend, sweep);
  if (!rows) return told(rows.error());
  std::string text = std::to_string(rows->size()) + " rows; ";
  for (const RankRow& row : *rows) text += complaint(row, sweep.ranks);
  return text;
}

std::string fact(const FabricBackend& backend, const std::string& name) {
  const Facts facts = backend.facts();
  const auto at = facts.find(name);
  return at == facts.end() ? "absent" : at->second;
}

}  // namespace

TEST_CASE("every operation and type is right, launched and replayed, by two, three and eight ranks") {
  for (const int ranks : {2, 3, 8}) {
    CAPTURE(ranks);
    // 1 byte: one element each; 1001: does not divide evenly; the last: above what is captured several times
    RankSweep sweep{{1, 1001, 40'000}, 2, ranks};
    if (ranks == 2) sweep.bytes.push_back(kGraphSmall + 4);
    const std::string rows = std::to_string(18 * sweep.bytes.size()) + " rows; ";
    for (const std::string& said : run_fake_ranks(
             {.ranks = ranks}, [&](FabricBackend&backend, int, RankStore&) { return complaints(backend, sweep); }))
      CHECK(said == rows);
  }
}

TEST_CASE("both times are those of one collective and of nothing else") {
  // given a device on which every operation takes a millisecond
  const Variables counted = {{"GSD_FAKE_CUDA_COUNTED_TIME", "1"}};
  std::vector<FabricCall> calls = {{FabricOperation::broadcast, ElementType::int8, kGraphSmall},
                                   {FabricOperation::broadcast, ElementType::int8, kGraphSmall + 1}};
  for (const char* word : {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "send_recv"})
    calls.push_back({*fabric_operation(word), ElementType::float16, 64});
  for (const std::string& said : run_fake_ranks({.all = counted}, [&](FabricBackend&backend, int, RankStore&) {
         std::string text;
         for (const FabricCall& call : calls) {
           if (const auto prepared = backend.prepare(call); !prepared) return told(prepared.error());
           const auto timing = backend.run();
           if (!timing) return told(timing.error());
           const bool is_right = timing->device_us == 1000 && timing->graph_us == 1000;
           text += is_right ? "." : std::string(to_string(call.operation)) + " ";
         }
         return text;
       }))
    CHECK(said == "........");
}

TEST_CASE("an older NCCL without AlltoAll and GetLastError exchanges by sends and receives in a group") {
  const Variables old = {{"GSD_NCCL_LIBRARY", fake_file("libnccl_without_late.so.2")},
                         {"GSD_FAKE_NCCL_VERSION", "21003"}};
  for (const std::string& said : run_fake_ranks({.ranks = 3, .all = old}, [&](FabricBackend&backend, int, RankStore&) {
         return measure_once(backend, {FabricOperation::all_to_all, ElementType::float16, 300}) + " " +
                fact(backend, "nccl.version");
       }))
    CHECK(said == "wrong 0, graph 2.10.3");
}

TEST_CASE("facts: versions, GPUs, ranks per node, an empty launch") {
  const auto said = run_fake_ranks({.ranks = 3}, [](FabricBackend& backend, int, RankStore&) {
    measure_once(backend, kSmallSum);
    std::string text = backend.name();
    for (const char* name : {"nccl.version", "nccl.nodes", "nccl.ranks_per_node", "cuda.runtime", "cuda.driver",
                             "gpu.bus_ids", "gpu.compute_capability", "nccl.graph"})
      text += " | " + fact(backend, name);
    return text + (std::stod(fact(backend, "empty_kernel_us")) > 0 ? " | empty" : "");
  });
  for (const std::string& one : said)
    CHECK(one == "nccl | 2.30.7 | 1 | 3 | 13.0 | 13.0 | 0000:01:00.0, 0000:02:00.0, 0000:03:00.0 | 9.0 | yes | empty");
}

TEST_CASE("a size range that is slow is slow in the times, launched and replayed, and nothing else is changed") {
  constexpr double kDelay = 1000;
  const Variables slow = {{"GSD_FAKE_NCCL_SLOW", "32768-65536:1000"}};
  const auto said = run_fake_ranks({.all = slow}, [&](FabricBackend& backend, int, RankStore&) -> std::string {
    const auto rows = sweep_rank(backend, {{32'767, 32'768, 65'536, 65'540}, 1, 2});
    if (!rows) return told(rows.error());
    std::string text;
    for (const RankRow& row : *rows) {
      const std::int64_t bytes = row.call.elements * size_of(row.call.type);
      const bool is_slow = bytes >= 32'768 && bytes <= 65'536;
      if (is_slow && (median_device_us(row) < kDelay || median_graph_us(row) < kDelay)) text += "fast; ";
      if (row.wrong != 0) text += "wrong; ";
    }
    return text + "measured";
  });
  CHECK(said == std::vector<std::string>{"measured", "measured"});
}

TEST_CASE("results that are wrong are counted where they are wrong") {
  for (const char* word : {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "send_recv"}) {
    const Variables wrong = {{"GSD_FAKE_NCCL_WRONG", word}};
    const auto said = run_fake_ranks({.of_rank = {{1, wrong}}}, [&](FabricBackend& backend, int, RankStore&) {
      std::string text;
      for (const char* operation :
           {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "send_recv"})
        text += measure_once(backend, {*fabric_operation(operation), ElementType::int8, 64}).substr(0, 7) + " ";
      return text;
    });
    CHECK(said[0] == "wrong 0 wrong 0 wrong 0 wrong 0 wrong 0 wrong 0 ");
    std::string expected;
    for (const char* operation : {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "send_recv"})
      expected += std::string("wrong ") + (std::string(operation) == word ? "1 " : "0 ");
    CHECK(said[1] == expected);
  }
}

TEST_CASE("no graph on one rank: none on any, and the fact says why") {
  const Variables cannot = {{"GSD_FAKE_CUDA_NO_CAPTURE", "1"}};
  const auto said = run_fake_ranks({.of_rank = {{1, cannot}}}, [](FabricBackend& backend, int, RankStore&) {
    const std::string measured = measure_once(backend, kSmallSum);
    return measured + " | " + fact(backend, "nccl.graph");
  });
  CHECK(said[0] == "wrong 0, no graph | no: another rank cannot capture");
  CHECK(said[1] ==
        "wrong 0, no graph | no: cannot capture a graph: operation not permitted when stream is capturing (CUDA error "
        "900)");
}

TEST_CASE("NCCL before 2.9 is never captured") {
  const Variables old = {{"GSD_FAKE_NCCL_VERSION", "2804"}};
  for (const std::string& said : run_fake_ranks({.all = old}, [](FabricBackend&backend, int, RankStore&) {
         const std::string measured = measure_once(backend, kSmallSum);
         return measured + " | " + fact(backend, "nccl.graph");
       }))
    CHECK(said == "wrong 0, no graph | no: NCCL before 2.9 cannot be captured");
}

TEST_CASE("two ranks on one GPU: with NCCL 2.30 and its switch only") {
  const auto measure = [](const std::string& version, const std::string& enabled) {
    FakeRanks setting;
    setting.all = {
        {"GSD_FAKE_CUDA_DEVICES", "1"}, {"GSD_FAKE_NCCL_VERSION", version}, {"NCCL_MULTI_RANK_GPU_ENABLE", enabled}};
    return run_fake_ranks(setting, [](FabricBackend& backend, int, RankStore&) {
      return measure_once(backend, kSmallSum) + " " + fact(backend, "gpu.bus_ids");
    });
  };
  for (const std::string& said : measure("23007", "1")) CHECK(said == "wrong 0, graph 0000:01:00.0, 0000:01:00.0");
  for (const std::string& said : measure("23007", "0")) CHECK(said.find("error: two ranks on one GPU") == 0);
  for (const std::string& said : measure("22809", "1")) CHECK(said.find("error: two ranks on one GPU") == 0);
}

TEST_CASE("whether there are devices is asked without spoiling the process for its ranks") {
  const auto ends = run_ranks(1, [](int, RankStore&) -> std::string {
    use_fakes({});
    const bool has = nccl_has_devices();
    use_fakes({{"GSD_FAKE_CUDA_DEVICES", "0"}});
    const bool has_none = !nccl_has_devices();
    use_fakes({{"GSD_FAKE_CUDA_DEVICES", "2"}, {"GSD_NCCL_LIBRARY", "/nowhere/libnccl.so.2"}});
    const bool has_no_nccl = !nccl_has_devices();
    // A process that had asked CUDA itself could not fork ranks that use it: the fake checks that, as CUDA does.
    std::string text = has && has_none && has_no_nccl ? "asked; " : "asked in vain; ";
    for (const std::string& said : run_fake_ranks(
             {}, [](FabricBackend&backend, int, RankStore&) { return measure_once(backend, kSmallSum) + "; "; }))
      text += said;
    return text;
  });
  CHECK(ends[0].said == "asked; wrong 0, graph; wrong 0, graph; ");
}
