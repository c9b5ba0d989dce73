// The jobs of samples/, as the metrics that their recordings are expected to give: what must be said first.
#include "src/diagnosis/diagnose.h"
#include "src/diagnosis/verdict.h"
#include "tests/unit/diagnosis/written.h"

namespace gradsync {
namespace {

const RuleSet& builtin() {
  static const RuleSet rules = [] {
    auto loaded = builtin_rules();
    REQUIRE_MESSAGE(loaded, loaded.error().message());
    return std::move(*loaded);
  }();
  return rules;
}

// Two ranks of one quiet host that nothing is wrong with, and what is special about the job.
MetricSet job(std::initializer_list<Measured> special) {
  MetricSet metrics = metrics_of({
      {"step.time_ms", 100},
      {"step.count", 30},
      {"sync.exposed_ms", 6},
      {"sync.exposed_percent", 6},
      {"comm.exposed_ms", 5},
      {"comm.exposed_percent", 5},
      {"comm.peer_wait_percent", 3},
      {"data.share_percent", 0},
      {"attribution.data_ms", 0},
      {"comm.collectives_per_step", 2},
      {"comm.message_bytes", 800000},
      {"comm.dense_ratio_percent", 100},
      {"comm.collectives_per_step", 2, "group:default"},
      {"comm.message_bytes", 800000, "group:default"},
      {"host_sync.count_per_step", 1},
      {"host_sync.in_hook_per_step", 0},
      {"run.ranks_seen", 2},
      {"run.ranks_missing", 0},
      {"run.hosts", 1},
      {"sched.irq_exposed_percent", 0},
      {"sched.traced_exposed_percent", 5},
      {"fabric.send_recv.alpha_us", 30},
      {"load.scatter.cuda.roofline_percent", 60},
      {"load.scatter.cuda.ms", 1},
      {"ddp.largest_bucket_percent", 100},
      {"ddp.largest_bucket_bytes", 800000},
      {"ddp.synchronised_backwards_per_step", 1},
      {"sched.delay_p99_ms", 0.1},
      {"sched.wait_share_percent", 2},
      {"sched.behind_job_percent", 0.5},
      {"irq.queues", 0},
      {"irq.busiest_cpu_percent", 2},
      {"sched.throttled_percent", 0},
      {"host.steal_percent", 0},
      {"host.others_percent", 1},
      {"topology.narrow_link_count", 0},
      {"kernel.occupancy_percent", 100},
      {"kernel.small_grid_percent", 0},
      {"compress.serial_percent", 0},
      {"gpu.thermal_slowdown_percent", 0},
      {"gpu.hw_slowdown_percent", 0},
      {"gpu.sync_boost_percent", 0},
      {"gpu.power_capped_percent", 0},
      {"gpu.sm_clock_percent", 97},
      {"gpu.pcie_link_percent", 100},
      {"gpu.ecc_uncorrected", 0},
      {"gpu.ecc_uncorrected_new", 0},
      {"gpu.xid_count", 0},
      {"gpu.foreign_process_count", 0},
      {"nic.cnp_per_s", 0},
      {"nic.pause_per_s", 0},
      {"nic.retransmit_percent", 0},
      {"nic.out_of_order_per_s", 0},
      {"nic.drops_per_s", 0},
      {"fabric.cliff_percent", 0},
      {"fabric.plateau_percent", 94},
      {"fabric.wrong_results", 0},
      {"quality.nonfinite_count", 0},
      {"quality.replica_difference_percent", 0},
  });
  for (const char* rank : {"rank:0", "rank:1"}) {
    metrics.add({"sched.starved_ms", rank, 0.3, 30, {}, {}, {}, "", {}});
    metrics.add({"sched.starved_percent", rank, 0.3, 30, {}, {}, {}, "", {}});
    metrics.add({"sched.explained_percent", rank, 3, 30, {}, {}, {}, "", {}});
    metrics.add({"sched.preempted_percent", rank, 0.3, 30, {}, {}, {}, "", {}});
    metrics.add({"usercopy.share_percent", rank, 3, 900, {}, {}, {}, "", {}});
    metrics.add({"usercopy.step_percent", rank, 0.5, 30, {}, {}, {}, "", {}});
    metrics.add({"usercopy.exposed_percent", rank, 1, 30, {}, {}, {}, "", {}});
    metrics.add({"store.rtt_ms", rank, 0.1, 11, {}, {}, {}, "", {}});
    metrics.add({"store.rtt_over_best", rank, 1, 11, {}, {}, {}, "", {}});
    metrics.add({"rank.ended_early", rank, 0, 1, {}, {}, {}, "", {}});
    metrics.add({"straggler.late_ms", rank, 0.2, 30, {}, {}, {}, "", 0.3});
    metrics.add({"straggler.late_percent", rank, 0.2, 30, {}, {}, {}, "", {}});
    metrics.add({"straggler.last_arrival_percent", rank, 50, 30, {}, {}, {}, "", {}});
    metrics.add({"straggler.late_over_residual", rank, 200, 30, {}, {}, {}, "", {}});
  }
  for (const Measured& one : special) metrics.add({one.name, one.scope, one.value, 30, {}, {}, {}, "", {}});
  return metrics;
}

Facts facts(const std::string& compression, const std::string& place) {
  Facts known{{"backend", "gloo"},
              {"device", "cpu"},
              {"framework", "ddp"},
              {"instrumented", "yes"},
              {"deepspeed.zero_stage", "none"},
              {"compression", compression},
              {"compression.place", place},
              {"sched.same_core.kind", "none"},
              {"sched.stopped.kind", "none"},
              {"sweep", "live"},
              {"sweep.cliff", "no cliff"},
              {"sweep.not_a_collective", "no"},
              {"steps.source", "hook"},
              {"hook.kind", "none"},
              {"torch", "2.5.1"},
              {"nccl.version", "2.23.4"},
              {"bench", "cpu"},
              {"fabric.mismatches", "no"},
              {"extensions.stale", "no"},
              {"configuration.socket_interface", "unset"},
              {"env.nccl_p2p_disable", "unset"},
              {"topology.mtu", "large"},
              {"ddp.count", "1"},
              {"ddp.bucket_cap_mb", "25"},
              {"ddp.find_unused_parameters", "false"},
              {"ddp.gradient_as_bucket_view", "false"}};
  if (compression != "none") known["compression.started"] = "yes";
  return known;
}

std::vector<std::string> fired(const MetricSet& metrics, const Facts& known) {
  std::vector<std::string> lines;
  for (const Finding& finding : diagnose(builtin(), metrics, known))
    if (finding.state == FindingState::fired)
      lines.push_back(finding.rule + (finding.folded_under.empty() ? "" : " under " + finding.folded_under));
  return lines;
}

}  // namespace

TEST_CASE("plain DDP that hides most of its all-reduce: nothing at warning or above") {
  for (const double percent : {0.5, 5.0, 7.9}) {
    const MetricSet metrics = job({{"comm.exposed_percent", percent}, {"sync.exposed_percent", percent}});
    CHECK(fired(metrics, facts("none", "none")).empty());
    for (const Finding& finding : diagnose(builtin(), metrics, facts("none", "none")))
      if (finding.rule != "irq-storm")  // of machines without a job
        CHECK_MESSAGE(finding.state == FindingState::clean, finding.rule << ": " << finding.says);
  }
}

TEST_CASE("Top-K after backward") {
  const MetricSet metrics = job({{"sync.exposed_ms", 46},
                                 {"sync.exposed_percent", 46},
                                 {"comm.exposed_ms", 12},
                                 {"comm.exposed_percent", 12},
                                 {"comm.dense_ratio_percent", 0},
                                 {"compress.total_ms", 33},
                                 {"compress.serial_ms", 33},
                                 {"compress.serial_percent", 33},
                                 {"compress.after_backward_percent", 100},
                                 {"compress.serial_over_comm_percent", 275},
                                 {"compress.wire_ratio_percent", 6},
                                 {"compress.collectives_per_step", 2},
                                 {"compress.index_all_reduce_per_step", 0}});
  CHECK(fired(metrics, facts("topk", "after_backward")) ==
        Lines{"compress-not-overlapped", "expensive-compress under compress-not-overlapped",
              "exposed-communication under compress-not-overlapped"});
}

TEST_CASE("Top-K in a hook that costs more than it leaves to send") {
  const MetricSet metrics = job({{"sync.exposed_ms", 60},
                                 {"sync.exposed_percent", 60},
                                 {"comm.exposed_ms", 11},
                                 {"comm.exposed_percent", 11},
                                 {"comm.dense_ratio_percent", 0},
                                 {"compress.total_ms", 49},
                                 {"compress.serial_ms", 48},
                                 {"compress.serial_percent", 48},
                                 {"compress.after_backward_percent", 30},
                                 {"compress.serial_over_comm_percent", 436},
                                 {"compress.wire_ratio_percent", 6},
                                 {"compress.collectives_per_step", 14},
                                 {"compress.index_all_reduce_per_step", 0},
                                 {"comm.collectives_per_step", 14},
                                 {"comm.message_bytes", 42000},
                                 {"comm.collectives_per_step", 14, "group:default"},
                                 {"comm.message_bytes", 42000, "group:default"}});
  CHECK(fired(metrics, facts("topk", "hook")) ==
        Lines{"expensive-compress", "small-messages", "exposed-communication under expensive-compress"});
}

TEST_CASE("Top-K in optimizer.step() under plain DDP") {
  const MetricSet metrics = job({{"sync.exposed_ms", 55},
                                 {"sync.exposed_percent", 55},
                                 {"comm.exposed_ms", 20},
                                 {"comm.exposed_percent", 20},
                                 {"comm.dense_ratio_percent", 100},
                                 {"compress.total_ms", 35},
                                 {"compress.serial_ms", 35},
                                 {"compress.serial_percent", 35},
                                 {"compress.after_backward_percent", 100},
                                 {"compress.serial_over_comm_percent", 175},
                                 {"compress.wire_ratio_percent", 6},
                                 {"compress.collectives_per_step", 2},
                                 {"compress.index_all_reduce_per_step", 0}});
  CHECK(fired(metrics, facts("topk", "in_step")) == Lines{"dense-sync-still-present",
                                                          "compress-not-overlapped under dense-sync-still-present",
                                                          "expensive-compress under dense-sync-still-present",
                                                          "exposed-communication under dense-sync-still-present"});
}

TEST_CASE("Top-K of each tensor by itself") {
  const MetricSet metrics = job({{"sync.exposed_ms", 61},
                                 {"sync.exposed_percent", 61},
                                 {"comm.exposed_ms", 34},
                                 {"comm.exposed_percent", 34},
                                 {"comm.dense_ratio_percent", 0},
                                 {"compress.total_ms", 27},
                                 {"compress.serial_ms", 27},
                                 {"compress.serial_percent", 27},
                                 {"compress.after_backward_percent", 100},
                                 {"compress.serial_over_comm_percent", 79},
                                 {"compress.wire_ratio_percent", 6},
                                 {"compress.collectives_per_step", 164},
                                 {"compress.index_all_reduce_per_step", 0},
                                 {"comm.collectives_per_step", 164},
                                 {"comm.message_bytes", 736},
                                 {"comm.collectives_per_step", 164, "group:default"},
                                 {"comm.message_bytes", 736, "group:default"}});
  CHECK(fired(metrics, facts("topk", "after_backward")) == Lines{"per-tensor-compression", "compress-not-overlapped",
                                                                 "exposed-communication under per-tensor-compression",
                                                                 "small-messages under per-tensor-compression"});
}

TEST_CASE("a slow rank") {
  const MetricSet metrics = job({{"straggler.late_ms", 24, "rank:1"},
                                 {"straggler.late_percent", 19, "rank:1"},
                                 {"straggler.last_arrival_percent", 100, "rank:1"},
                                 {"straggler.late_over_residual", 24000, "rank:1"},
                                 {"straggler.late_ms", -24, "rank:0"},
                                 {"straggler.last_arrival_percent", 0, "rank:0"},
                                 {"sync.exposed_percent", 25},
                                 {"comm.exposed_percent", 12},
                                 {"comm.exposed_ms", 12}});
  CHECK(fired(metrics, facts("none", "none")) == Lines{"straggler-rank", "exposed-communication"});
}

TEST_CASE("PowerSGD before its start step: an info first, and nothing about compression is clean") {
  const MetricSet metrics = job({{"comm.exposed_percent", 14},
                                 {"comm.exposed_ms", 14},
                                 {"compress.steps_until_start", 960},
                                 // What the hook's own calls look like while they only pass gradients on.
                                 {"compress.total_ms", 0.4},
                                 {"compress.serial_ms", 0.4},
                                 {"compress.serial_percent", 0.4},
                                 {"compress.after_backward_percent", 100},
                                 {"compress.serial_over_comm_percent", 3}});
  Facts known = facts("powersgd", "hook");
  known["compression.started"] = "no";
  known["compression.start_step"] = "1000";
  CHECK(fired(metrics, known) ==
        Lines{"compression-not-started", "exposed-communication under compression-not-started"});
  for (const Finding& finding : diagnose(builtin(), metrics, known))
    if (finding.rule.find("compress") != std::string::npos || finding.rule == "dense-sync-still-present" ||
        finding.rule == "topk-through-allreduce" || finding.rule == "host-sync-in-hook")
      CHECK_MESSAGE(finding.state != FindingState::clean, finding.rule);
}

TEST_CASE("an fp16 hook on Gloo") {
  const MetricSet metrics = job({{"sync.exposed_ms", 52},
                                 {"sync.exposed_percent", 52},
                                 {"comm.exposed_ms", 44},
                                 {"comm.exposed_percent", 44},
                                 {"comm.dense_ratio_percent", 0},
                                 {"compress.total_ms", 8},
                                 {"compress.serial_ms", 8},
                                 {"compress.serial_percent", 8},
                                 {"compress.after_backward_percent", 80},
                                 {"compress.serial_over_comm_percent", 18},
                                 {"compress.wire_ratio_percent", 50},
                                 {"compress.collectives_per_step", 2},
                                 {"compress.index_all_reduce_per_step", 0}});
  CHECK(fired(metrics, facts("fp16", "hook")) == Lines{"exposed-communication"});
}

TEST_CASE("a rank that a busy machine delays does not hide the communication that all ranks wait for") {
  const MetricSet metrics = job({{"comm.exposed_ms", 44},
                                 {"comm.exposed_percent", 44},
                                 {"straggler.late_ms", 11, "rank:1"},
                                 {"straggler.late_percent", 11, "rank:1"},
                                 {"straggler.last_arrival_percent", 83, "rank:1"},
                                 {"straggler.late_over_residual", 11000, "rank:1"}});
  CHECK(fired(metrics, facts("none", "none")) == Lines{"exposed-communication", "straggler-rank"});
}

TEST_CASE("nothing measured: nothing is claimed, in either direction") {
  for (const Finding& finding : diagnose(builtin(), {}, {})) {
    CAPTURE(finding.rule);
    CHECK(finding.state == FindingState::could_not_judge);
    CHECK_FALSE(finding.says.empty());
    CHECK_FALSE(finding.hint.empty());
  }
}

TEST_CASE("the same input gives the same findings") {
  const MetricSet metrics = job({{"comm.exposed_percent", 40}, {"data.share_percent", 30}});
  const auto first = diagnose(builtin(), metrics, facts("none", "none"));
  const auto reloaded = builtin_rules();
  REQUIRE(reloaded);
  const auto second = diagnose(*reloaded, metrics, facts("none", "none"));
  REQUIRE(first.size() == second.size());
  for (std::size_t i = 0; i < first.size(); ++i) {
    CHECK(first[i].rule == second[i].rule);
    CHECK(first[i].scope == second[i].scope);
    CHECK(first[i].says == second[i].says);
    CHECK(first[i].evidence == second[i].evidence);
  }
  CHECK(builtin().version == reloaded->version);
}

}  // namespace gradsync
