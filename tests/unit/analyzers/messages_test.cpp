#include <doctest/doctest.h>

#include "tests/unit/analyzers/run_analyzers.h"

using namespace gradsync;
using test::analyze;
using test::repeat_step;

namespace {

const std::string kSteps =
    "range forward @0..@20000\nrange backward @20000..@50000 compute_end_us=@45000\nrange optimizer @80000..@100000\n";

}  // namespace

TEST_CASE("the framework's buckets are counted from its own list and called extrapolated") {
  const Conclusions found = analyze(
      "process host=n pid=1\nfact rank=0 framework=ddp hook.kind=none ddp.gradient_bytes=4000000 "
      "ddp.bucket_bytes=1000000,3000000\n" +
      repeat_step(20, 100000, kSteps));
  CHECK(*found.metrics.value("comm.bytes_per_step", "all") == doctest::Approx(4000000));
  CHECK(*found.metrics.value("comm.collectives_per_step", "all") == doctest::Approx(2));
  CHECK(*found.metrics.value("comm.extrapolated_percent", "all") == doctest::Approx(100));
  CHECK(*found.metrics.value("comm.dense_ratio_percent", "all") == doctest::Approx(100));
  CHECK_FALSE(found.metrics.value("compress.collectives_per_step", "all"));
  CHECK(found.series.at("messages").rows.size() == 2);
}

TEST_CASE("an all-reduce of indices is counted: the sum of positions means nothing") {
  const std::string body =
      kSteps +
      "collective all_reduce @60000..@65000 bytes=160000 elements=20000 dtype=int64 group=w seq={0}\n"
      "collective all_reduce @65000..@70000 bytes=80000 elements=20000 dtype=float32 group=w seq={0}";
  const Conclusions found =
      analyze("process host=n pid=1\nfact rank=0 ddp.gradient_bytes=4000000\n" + repeat_step(20, 100000, body));
  CHECK(*found.metrics.value("compress.index_all_reduce_per_step", "all") == doctest::Approx(1));
  CHECK(*found.metrics.value("comm.message_bytes@p50", "all") > 0);
}

TEST_CASE("groups are told apart") {
  const std::string body =
      kSteps +
      "collective all_reduce @60000..@65000 bytes=4000 elements=1000 dtype=float32 group=dp seq={0}\n"
      "collective all_reduce @66000..@67000 bytes=8000 elements=2000 dtype=float32 group=tp seq={0}";
  const Conclusions found = analyze("process host=n pid=1\nfact rank=0\n" + repeat_step(20, 100000, body));
  CHECK(*found.metrics.value("comm.bytes_per_step", "group:dp") == doctest::Approx(4000));
  CHECK(*found.metrics.value("comm.bytes_per_step", "group:tp") == doctest::Approx(8000));
  CHECK(*found.metrics.value("comm.bytes_per_step", "all") == doctest::Approx(12000));
}

TEST_CASE("a job without collectives has no message metrics at all") {
  const Conclusions found = analyze("process host=n pid=1\nfact rank=0\n" + repeat_step(20, 100000, kSteps));
  CHECK_FALSE(found.metrics.value("comm.bytes_per_step", "all"));
  CHECK_FALSE(found.metrics.value("comm.total_ms", "all"));
}

TEST_CASE("ranks of which no exchange was seen: what it costs is not known, and not zero") {
  const auto job = [](const std::string& facts) {
    return analyze("process host=n pid=1\nfact rank=0 " + facts + "\n" + repeat_step(20, 100000, kSteps));
  };
  const Conclusions unseen = job("world_size=2 framework=none");
  CHECK(unseen.facts.at("communication") == "none seen");
  CHECK_FALSE(unseen.facts.contains("compression"));
  CHECK_FALSE(unseen.metrics.value("comm.exposed_ms", "all"));
  CHECK_FALSE(unseen.metrics.value("sync.exposed_ms", "all"));
  CHECK(job("world_size=1 framework=none").metrics.value("sync.exposed_ms", "all") == 0.0);
  CHECK_FALSE(job("world_size=2 framework=ddp").facts.contains("communication"));
}

TEST_CASE("the hook that is not yet active: how far away its start is") {
  const std::string body =
      kSteps +
      "collective all_reduce @30000..@60000 hook=1 bytes=4000000 elements=1000000 dtype=float32 group=w seq={0}";
  const Conclusions found = analyze(
      "process host=n pid=1\nfact rank=0 framework=ddp ddp.gradient_bytes=4000000 hook.kind=powersgd "
      "hook.name=powerSGD_hook hook.start_step=1000\n" +
      repeat_step(20, 100000, body));
  CHECK(found.facts.at("compression.started") == "no");
  CHECK(*found.metrics.value("compress.steps_until_start", "all") == doctest::Approx(981));
  CHECK(*found.metrics.value("comm.dense_ratio_percent", "all") == doctest::Approx(100));
}

TEST_CASE("all-reduces that the framework issued in C++ and that were seen are not counted a second time") {
  const std::string body =
      kSteps +
      "collective all_reduce @40000..@60000 bytes=4000000 elements=1000000 dtype=float32 group=w seq={0}\n"
      "collective broadcast @1000..@2000 bytes=640 elements=160 dtype=float32 group=w seq={0}";
  const Conclusions found =
      analyze("process host=n pid=1\nfact rank=0 framework=ddp hook.kind=none ddp.gradient_bytes=4000000\n" +
              repeat_step(20, 100000, body));
  CHECK(*found.metrics.value("comm.bytes_per_step", "all") == doctest::Approx(4000000));
  CHECK(*found.metrics.value("comm.collectives_per_step", "all") == doctest::Approx(1));
  CHECK(*found.metrics.value("comm.extrapolated_percent", "all") == doctest::Approx(0));
  CHECK(*found.metrics.value("comm.dense_ratio_percent", "all") == doctest::Approx(100));
  CHECK(found.facts.at("compression") == "none");
}

TEST_CASE("steps in which the collector no longer looks keep the framework's all-reduces") {
  std::string text =
      "process host=n pid=1\nfact rank=0 framework=ddp hook.kind=none ddp.gradient_bytes=4000000 "
      "ddp.bucket_bytes=4000000 ddp.group=w\n" +
      repeat_step(20, 100000, kSteps);
  for (int step = 0; step < 12; ++step) {  // 2 warm-up steps and 10 of the 18 counted ones
    const int start = step * 100000;
    text += "collective all_reduce " + std::to_string(start + 40000) + ".." + std::to_string(start + 60000) +
            " bytes=4000000 elements=1000000 dtype=float32 group=w seq=" + std::to_string(step) + "\n";
  }
  const Conclusions found = analyze(text);
  CHECK(*found.metrics.value("comm.dense_ratio_percent", "all") == doctest::Approx(100));
  CHECK(*found.metrics.value("comm.bytes_per_step", "all") == doctest::Approx(4000000));
  CHECK(found.series.at("messages").rows.size() == 1);  // one line, seen or not
  const double extrapolated = *found.metrics.value("comm.extrapolated_percent", "all");
  CHECK(extrapolated > 10);
  CHECK(extrapolated < 90);
}

TEST_CASE("a step wholly inside no_sync() sends nothing that the framework could be charged with") {
  std::string text = "process host=n pid=1\nfact rank=0 framework=ddp hook.kind=none ddp.gradient_bytes=4000000\n";
  std::string body =
      "range forward @0..@20000 ddp_sync=0\nrange backward @20000..@50000\nrange optimizer @80000..@100000\n";
  text += repeat_step(20, 100000, body);
  const Conclusions found = analyze(text);
  CHECK_FALSE(found.metrics.value("comm.dense_ratio_percent", "all"));
}

TEST_CASE("indices of 64 bits, and what gathering makes of a payload among many ranks") {
  const std::string body =
      kSteps +
      "range compress @50000..@59000 hook=1 name=hook\n"
      "collective all_gather @60000..@65000 hook=1 bytes=160000 elements=20000 dtype=int64 group=w seq={0}\n"
      "collective all_gather @65000..@70000 hook=1 bytes=80000 elements=20000 dtype=float32 group=w seq={0}";
  const auto with = [&](const std::string& world) {
    return analyze("process host=n pid=1\nfact rank=0 framework=ddp hook.kind=custom ddp.gradient_bytes=4000000 " +
                   world + "\n" + repeat_step(20, 100000, body));
  };
  const Conclusions two = with("world_size=2"), many = with("world_size=33");
  CHECK(*two.metrics.value("compress.wide_index_percent", "all") == doctest::Approx(200.0 / 3));
  // N - 1 payloads of 240 kB against 2 (N - 1) / N times 4 MB: 3 % times the ranks.
  CHECK(*two.metrics.value("compress.traffic_ratio_percent", "all") == doctest::Approx(6));
  CHECK(*many.metrics.value("compress.traffic_ratio_percent", "all") == doctest::Approx(99));
  CHECK_FALSE(with("").metrics.value("compress.traffic_ratio_percent", "all"));
}
