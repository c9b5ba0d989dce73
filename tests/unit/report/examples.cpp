#include "tests/unit/report/examples.h"

namespace gradsync {
namespace {

Metric metric(const char* name, double value, std::int64_t n, const char* scope = "all") {
  return {.name = name, .scope = scope, .value = value, .n = n, .source = "torch_hook"};
}

Metric metric(const char* name, double value, std::int64_t n, double p10, double p90) {
  return {.name = name, .value = value, .n = n, .p10 = p10, .p50 = value, .p90 = p90, .source = "torch_hook"};
}

Finding clean(const char* rule, int step, const char* scope = "all") {
  return {.rule = rule, .step = step, .scope = scope, .severity = Severity::warning, .state = FindingState::clean};
}

Finding seen(Finding finding, double effect, const char* unit) {
  finding.would_have_seen = effect;
  finding.would_have_seen_unit = unit;
  return finding;
}

Finding unjudged(const char* rule, int step, const char* reason, const char* hint = "") {
  return {.rule = rule, .step = step, .severity = Severity::warning, .says = reason, .hint = hint};
}

Report run_report() {
  Report report;
  report.tool = {.version = "0.1.0", .parts = {{"rules", "1"}, {"spool", "1"}}};
  report.command = "run";
  report.run = {.command_line = {"python3", "samples/ddp_topk.py", "--note", "two words"},
                .hosts = {"node1"},
                .ranks = 2,
                .steps = 48,
                .seconds = 21.4,
                .backend = "gloo",
                .versions = {{"python", "3.11.2"}, {"torch", "2.1.0"}},
                .cpus = 16,
                .clocks = "one host, CLOCK_MONOTONIC",
                .recording = "gradsync-20",
                .recording_id = "6f1c",
                .exit_status = 0};
  report.coverage = {{.source = "torch hook rank:0", .tier = "C"},
                     {.source = "scheduler",
                      .state = CoverageState::unavailable,
                      .reason = "not collected by this version",
                      .hint = "perf sched record"}};
  return report;
}

void add_fired_findings(Report& report) {
  report.findings = {
      {.rule = "dense-sync-still-present",
       .step = 4,
       .severity = Severity::error,
       .state = FindingState::fired,
       .title = "The whole gradient is still sent beside its compressed form",
       .says = "98 % of the gradient's bytes travel uncompressed every step.",
       .evidence = {"comm.dense_ratio_percent", "comm.message_bytes@p90", "not.measured_ms"},
       .advice = {"Register the compression as DDP's communication hook."},
       .saves = Saving{.kind = SavingKind::bound, .p05 = 17.3, .p50 = 17.3, .p95 = 17.3}},
      {.rule = "compress-not-overlapped",
       .step = 1,
       .severity = Severity::warning,
       .state = FindingState::fired,
       .title = "Compression starts after the last gradient is ready",
       .says = "8.6 ms of every step are compression with nothing useful beside it.",
       .evidence = {"compress.serial_ms", "step.time_ms"},
       .where = "train.py:87 in topk_hook",
       .why = "Work that waits for the whole backward pass cannot hide behind it.",
       .advice = {"Compress each bucket as soon as it is ready.", "Keep bucket_cap_mb at 25 MiB or less."},
       .explains = {"exposed-communication"},
       .saves = Saving{.kind = SavingKind::predicted, .p05 = 5.8, .p50 = 7.9, .p95 = 8.4, .probability = 0.97}},
      {.rule = "late-rank",
       .step = 4,
       .scope = "rank:1",
       .severity = Severity::warning,
       .state = FindingState::fired,
       .title = "rank 1 keeps the others waiting",
       .says = "rank 1 arrives 6.0 ms after the others.",
       .evidence = {"straggler.late_ms"}},
      {.rule = "exposed-communication",
       .step = 1,
       .severity = Severity::info,
       .state = FindingState::fired,
       .title = "Communication is not hidden behind compute",
       .says = "17.9 ms of communication have nothing useful beside them.",
       .folded_under = "compress-not-overlapped"}};
}

}  // namespace

Report slow_topk_report() {
  Report report = run_report();
  report.facts = {{"backend", "gloo"}, {"compression", "topk"}};
  report.coverage.push_back({.source = "torch hook rank:1",
                             .tier = "C",
                             .state = CoverageState::partial,
                             .reason = "a thread's buffer was full",
                             .lost = 12});
  report.metrics = {
      metric("comm.dense_ratio_percent", 98, 48),      metric("comm.message_bytes", 1 << 20, 480, 4096, 25 << 20),
      metric("compress.serial_ms", 8.6, 48, 7.9, 8.9), metric("observer.cost_percent", 0.3, 1),
      metric("phase.backward_ms", 62.76, 48),          metric("phase.forward_ms", 41.24, 48),
      metric("phase.optimizer_ms", 3.06, 48),          metric("step.time_ms", 142.03, 48, 139.8, 146.3),
      metric("step.time_ms", 141.5, 48, "rank:1"),     metric("straggler.late_ms", 6, 48, "rank:1")};
  report.series["steps"] = {"steps", {"rank", "step", "time_ms", "variant"}, {}};
  report.series["steps"].rows = {{std::int64_t{0}, std::int64_t{3}, 141.25, "as written"},
                                 {std::int64_t{1}, std::int64_t{3}, 142.0, "as written"}};
  report.attribution = {{.scope = "all",
                         .step = "median",
                         .parts_ms = {{"compute", 107.06},
                                      {"compress", 8.64},
                                      {"comm_peer_wait", 6.04},
                                      {"comm_startup", 5.13},
                                      {"comm_transfer", 6.84},
                                      {"decompress", 4.24},
                                      {"host_sync", 2.48},
                                      {"data", 0},
                                      {"idle", 1.6}}},
                        {.scope = "rank:1", .step = "median", .parts_ms = {{"compute", 120.5}, {"comm_unsplit", 21}}}};
  add_fired_findings(report);
  report.findings.push_back(clean("late-rank", 4, "rank:0"));
  report.findings.push_back(seen(clean("small-messages", 2), 0.4, "ms"));
  report.findings.push_back(seen(clean("first-send-late", 2), 1.25, "ms"));
  report.findings.push_back(seen(clean("input-starved", 1), 0.8, "percent"));
  report.findings.push_back(unjudged("scatter-locality", 4, "no hardware counters here", "perf stat -e cache-misses"));
  report.verdict = {.text =
                        "Compression costs you 17.3 ms of every 142.0 ms step: it sends 6.1 % of the bytes and makes "
                        "sync 2.2× slower.\nWithout it: 124.7 ms measured (±0.9, 24 steps each way).",
                    .sign = VerdictSign::costs,
                    .ms = 17.3,
                    .p05 = 16.4,
                    .p95 = 18.2,
                    .measured = true};
  return report;
}

Report healthy_report() {
  Report report = run_report();
  report.metrics = {metric("step.time_ms", 52.5, 48, 51.9, 53.2)};
  report.attribution = {{.scope = "all", .step = "median", .parts_ms = {{"compute", 50}, {"comm_unsplit", 2.5}}}};
  report.findings = {seen(clean("exposed-communication", 1), 0.4, "ms"), seen(clean("small-messages", 2), 2, "percent"),
                     clean("sent-after-backward", 4)};
  report.verdict = {.text = "Synchronisation costs at most 2.5 ms of every 52.5 ms step.",
                    .sign = VerdictSign::neutral};
  return report;
}

Report unmeasured_report() {
  Report report;
  report.tool.version = "0.1.0";
  report.command = "analyze";
  report.run.command_line = {"trace.json"};
  report.findings = {
      unjudged("exposed-communication", 1, "no steps were found", "mark steps with NVTX ranges"),
      unjudged("host-sync-in-hook", 1, "no steps were found", "mark steps with NVTX ranges"),
      unjudged("small-messages", 2, "no steps were found", "mark steps with NVTX ranges"),
      unjudged("fabric-startup", 2, "this fabric was never measured", "gradsync-doctor sweep"),
  };
  return report;
}

Report sweep_report() {
  Report report;
  report.tool = {.version = "0.1.0", .parts = {{"rules", "1"}}};
  report.command = "sweep";
  report.run = {.command_line = {"--ranks", "2"}, .hosts = {"node1"}, .ranks = 2, .seconds = 12.5, .backend = "gloo"};
  report.facts = {{"job", "none"}, {"sweep", "live"}};
  report.verdict.text = "The bandwidth of all_reduce drops by 62 % at 64 KiB.";
  report.metrics = {metric("fabric.all_reduce.alpha_us", 38.2, 40), metric("fabric.all_reduce.cliff_percent", 62, 10)};
  report.findings = {{.rule = "bandwidth-cliff",
                      .step = 2,
                      .severity = Severity::warning,
                      .state = FindingState::fired,
                      .title = "Bandwidth drops as messages grow",
                      .says = "62 % less at 64 KiB.",
                      .evidence = {"fabric.all_reduce.cliff_percent"}},
                     {.rule = "plateau",
                      .step = 2,
                      .severity = Severity::warning,
                      .says = "not measured: fabric.link_gbytes_per_s",
                      .evidence = {"fabric.all_reduce.plateau_percent"}},
                     unjudged("compress-not-overlapped", 1, "not measured: fact compression")};
  Series& sweep = report.series["sweep.all_reduce"];
  sweep.name = "sweep.all_reduce";
  sweep.columns = {"bytes",
                   "count",
                   "type",
                   "n",
                   "p10_us",
                   "p50_us",
                   "p90_us",
                   "p99_us",
                   "algbw_gbytes_per_s",
                   "busbw_gbytes_per_s",
                   "wrong",
                   "startup_share_percent",
                   "source",
                   "ranks"};
  struct Size {
    std::int64_t bytes;
    double us, share;
  };
  for (const auto& [bytes, us, share] : {Size{1024, 38.5, 99}, Size{4096, 40.2, 95}, Size{16384, 46.1, 83},
                                         Size{65536, 210.4, 18}, Size{262144, 230, 17}, Size{1048576, 580, 7}}) {
    const double bandwidth = static_cast<double>(bytes) / us * 1e-3;
    sweep.rows.push_back({bytes, bytes / 4, "float", std::int64_t{10}, us * 0.9, us, us * 1.3, us * 2, bandwidth,
                          bandwidth, std::int64_t{0}, share, "sweep", std::int64_t{2}});
  }
  report.series["fabric_fit"] = {
      "fabric_fit",
      {"operation", "type", "load", "from_bytes", "to_bytes", "alpha_us", "alpha_p05", "alpha_p95", "us_per_mib",
       "us_per_mib_p05", "us_per_mib_p95", "bandwidth_gbytes_per_s", "half_size_bytes", "mape_percent", "n", "source"},
      {{"all_reduce", "float", "", std::int64_t{1024}, std::int64_t{1048576}, 38.2, 36.1, 40.9, 512.4, 480.0, 530.5,
        2.046, std::int64_t{78168}, 6.1, std::int64_t{60}, "sweep"}}};
  report.series["fabric_cliffs"] = {"fabric_cliffs",
                                    {"operation", "type", "load", "answer", "from_bytes", "to_bytes", "drop_percent",
                                     "drop_p05", "drop_p95", "p_value", "n", "severity", "cause"},
                                    {{"all_reduce", "float", "", "cliff", std::int64_t{65536}, std::int64_t{65536},
                                      62.0, 55.0, 66.0, 0.00012, std::int64_t{10}, "severe", ""}}};
  return report;
}

Report poisoned_report(const std::string& poison) {
  Report report = slow_topk_report();
  report.tool.version = report.command = report.run.backend = poison;
  report.run.command_line = {poison, poison};
  report.run.recording = report.run.recording_id = poison;
  report.run.versions[poison] = report.facts[poison] = report.tool.parts[poison] = poison;
  for (Coverage& entry : report.coverage) entry.source = entry.tier = entry.reason = entry.hint = poison;
  for (Metric& metric : report.metrics) metric.source = poison;
  for (Attribution& entry : report.attribution) entry.parts_ms[poison] = 1, entry.step = poison;
  report.attribution[0].step = "median";
  for (Finding& finding : report.findings) {
    finding.scope = "rank:" + poison;
    finding.rule += poison;
    finding.title = finding.says = finding.where = finding.why = finding.hint = poison;
    finding.would_have_seen_unit = poison;
    finding.advice = {poison, poison};
    if (finding.saves) finding.saves->unit = poison;
  }
  report.verdict.text = poison + "\n" + poison;
  report.facts["job"] = "some";
  report.facts["ab.answer"] = report.facts["compression.fingerprint"] = poison;
  report.metrics.push_back({.name = "gpu.counters." + poison, .value = 1});
  const double ms = 1;
  const auto add = [&](const std::string& name, std::vector<std::string> columns, std::vector<Cell> row) {
    report.series[name] = {name, std::move(columns), {std::move(row)}};
  };
  add("lanes", {"rank", "step", "lane", "start_us", "duration_us", "kind", "name"},
      {std::int64_t{0}, std::int64_t{7}, poison, ms, ms, poison, poison});
  add("messages", {"group", "op", "bytes", "count_per_step", "total_ms", "exposed_ms"},
      {poison, poison, std::int64_t{4096}, ms, ms, ms});
  add("job_on_fabric", {"operation", "group", poison, "bytes"}, {poison, poison, poison, std::int64_t{4096}});
  report.series["sweep." + poison] = {"sweep." + poison,
                                      {"bytes", "type", "source", "load", "p50_us", "place"},
                                      {{std::int64_t{1024}, poison, poison, poison, 10.0, poison},
                                       {std::int64_t{4096}, poison, poison, poison, 20.0, poison}}};
  report.series["fabric_cliffs"] = {"fabric_cliffs",
                                    {"operation", "type", "source", "load", "answer", "cause"},
                                    {{poison, poison, poison, poison, poison, poison}}};
  return report;
}

}  // namespace gradsync
