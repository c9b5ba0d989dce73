// What the terminal shows for small reports: the expected text stands beside the report that gives it.
#include "src/report/terminal.h"

#include <doctest/doctest.h>

#include "tests/unit/report/examples.h"
#include "tests/unit/report/golden.h"

namespace gradsync {
namespace {

// From the line that begins with `first` to the next empty line.
std::string section(const std::string& text, const std::string& first) {
  const std::size_t at = ("\n" + text).find("\n" + first);
  if (at == std::string::npos) return "";
  return text.substr(at, text.find("\n\n", at) + 1 - at);
}

Finding fired(const char* rule, int step, const char* scope = "all") {
  return {.rule = rule,
          .step = step,
          .scope = scope,
          .severity = Severity::warning,
          .state = FindingState::fired,
          .title = "Something is slow"};
}

}  // namespace

TEST_CASE("the whole report, as wide as a terminal is, wide, and narrow") {
  const Report report = slow_topk_report();
  const std::string normal = render_terminal(report, {.width = 100});
  CHECK(normal == golden("slow_topk.txt", normal));
  const std::string narrow = render_terminal(report, {.width = 40, .charset = Charset::ascii});
  CHECK(narrow == golden("slow_topk_narrow_ascii.txt", narrow));
  const std::string verbose = render_terminal(report, {.width = 120, .verbosity = Verbosity::verbose});
  CHECK(verbose == golden("slow_topk_verbose.txt", verbose));
}

TEST_CASE("parts that come from a profiler's longer steps are marked, and are shares when those are much longer") {
  Report report = healthy_report();
  report.metrics.push_back({.name = "window.inflation_percent", .scope = "all", .value = 7, .n = 5});
  report.attribution = {{.scope = "all",
                         .step = "median",
                         .parts_ms = {{"compute", 40}, {"comm_unsplit", 7.5}, {"launch", 3}, {"idle", 2}},
                         .inflated = {"idle", "launch"}}};
  CHECK(section(render_terminal(report, {.width = 100}), "step") ==
        R"(step 52.5 ms (51.9 … 53.2, n 48)
     compute 40.0 ▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇  comm 7.5 ▇▇▇ (not split)  launch 3.0 ▇  idle 2.0 ▇
     inflated by observation: idle, launch (the profiler's steps take 7 % longer than plain ones)
)");
  report.attribution[0].shares_only = true;
  CHECK(section(render_terminal(report, {.width = 100}), "step") ==
        R"(step 52.5 ms (51.9 … 53.2, n 48)
     compute 76 % ▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇  comm 14 % ▇▇▇ (not split)  launch 6 % ▇  idle 4 % ▇
     inflated by observation: idle, launch (the profiler's steps take 7 % longer than plain ones)
)");
}

TEST_CASE("the measured counterfactual stands below the step: its interval, its classes, its bytes, its caveats") {
  Report report = healthy_report();
  report.facts["ab.answer"] = "costs";
  report.facts["ab.with"] = "dense";
  report.facts["ab.network"] = "none, one host";
  report.facts["ab.bypassed_passes"] = "240";
  report.metrics.push_back({.name = "ab.with_ms", .scope = "all", .value = 154.2, .n = 24});
  report.metrics.push_back({.name = "ab.without_ms", .scope = "all", .value = 61, .n = 24});
  report.metrics.push_back({.name = "ab.control_ms", .scope = "all", .value = 1.1, .n = 24});
  report.metrics.push_back({.name = "ab.with_bytes", .scope = "all", .value = 600000, .n = 24});
  report.metrics.push_back({.name = "ab.without_bytes", .scope = "all", .value = 9800000, .n = 24});
  report.metrics.push_back({.name = "measured.ab_difference_ms",
                            .scope = "all",
                            .value = 93.1,
                            .n = 24,
                            .p10 = 91,
                            .p50 = 93.1,
                            .p90 = 95.2});
  report.series["ab"] = {"ab",
                         {"part", "with_ms", "without_ms", "difference_ms", "p05", "p95", "n"},
                         {{"compress", 70.0, 0.0, 70.0, 69.0, 71.0, std::int64_t{24}},
                          {"comm_transfer", 10.0, 12.5, -2.5, -3.0, -2.0, std::int64_t{24}},
                          {"step", 154.2, 61.0, 93.1, 91.0, 95.2, std::int64_t{24}}}};
  CHECK(section(render_terminal(report, {.width = 100}), "A/B") ==
        R"(A/B       with the hook 154.2 ms, without 61.0 ms: +93.1 ms (91.0 … 95.2, n 24); blocks of one kind
          differ by up to 1.1 ms
          of it compress +70.0 ms, comm transfer −2.5 ms
          each rank sends 586 KiB a step, without the hook 9.35 MiB
          this run's training is changed: 240 backward passes went without the hook
          one host: its loopback is no network, so this says nothing about a cluster
)");
  report.metrics.push_back({.name = "predict.no_compression.saved_ms",
                            .scope = "all",
                            .value = 88,
                            .n = 500,
                            .p10 = 80,
                            .p50 = 88,
                            .p90 = 99});
  report.metrics.push_back({.name = "ab.prediction_error_percent", .scope = "all", .value = -3.3, .n = 1});
  CHECK(section(render_terminal(report, {.width = 100}), "A/B").find("predicted +88.0 ms (80.0 … 99.0, n 500)") !=
        std::string::npos);
  report.facts["ab.answer"] = "could not judge";
  report.facts["ab.reason"] = "a rank has not reported";
  CHECK(section(render_terminal(report, {.width = 100}), "A/B") ==
        R"(A/B       could not judge: a rank has not reported
          this run's training is changed: 240 backward passes went without the hook
)");
}

TEST_CASE("compressed exchanges of a profile stand below the step, with what they cost") {
  Report report = healthy_report();
  report.facts["compression.fingerprint"] = "none";
  CHECK(render_terminal(report, {.width = 80}).find("exchange") == std::string::npos);
  report.facts["compression.fingerprint"] = "select+compact → all_gather → reconstruct";
  report.facts["compression.wire_dtype"] = "uint8";
  report.metrics.push_back({.name = "compress.kernels_per_step", .scope = "all", .value = 12, .n = 20});
  report.metrics.push_back({.name = "compress.kernel_ms", .scope = "all", .value = 7.3, .n = 20});
  report.metrics.push_back({.name = "compress.wire_bytes", .scope = "all", .value = 4 << 20, .n = 20});
  CHECK(section(render_terminal(report, {.width = 80}), "exchange") ==
        R"(exchange  select+compact → all_gather → reconstruct
          12 kernels a step · 7.3 ms before it · 4 MiB sent as uint8
)");
}

TEST_CASE("files without a job: their numbers instead of a step, those of the whole first, and not too many") {
  Report report = healthy_report();
  report.facts["job"] = "none";
  report.metrics = {{.name = "irq.rate_hz", .scope = "device:eth0", .value = 12, .n = 3},
                    {.name = "run.ranks_seen", .scope = "all", .value = 0, .n = 1},
                    {.name = "fabric.all_reduce.wrong_results", .scope = "all", .value = 0, .n = 60}};
  CHECK(section(render_terminal(report, {.width = 80}), "MEASURED") == R"(MEASURED
  fabric.all_reduce.wrong_results 0 (n 60)
  irq.rate_hz (device eth0) 12 Hz (n 3)
)");
  for (int cpu = 0; cpu < 30; ++cpu)
    report.metrics.push_back({.name = "irq.queues", .scope = "device:d" + std::to_string(cpu), .value = 1, .n = 1});
  CHECK(render_terminal(report, {.width = 80}).find("  and 12 numbers more: -v shows them\n") != std::string::npos);
}

TEST_CASE("nothing fired: what was checked, and how small a problem would have been seen") {
  CHECK(render_terminal(healthy_report(), {.width = 80}) ==
        R"(gradsync-doctor 0.1.0   python3 samples/ddp_topk.py --note 'two words'
  2 ranks · 48 steps · 21.4 s · gloo

VERDICT  Synchronisation costs at most 2.5 ms of every 52.5 ms step.

step 52.5 ms (51.9 … 53.2, n 48)
     compute 50.0 ▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇  comm 2.5 ▇ (not split)

 1 compute and communication apart ......... ✓ clean (would have seen ≥ 0.4 ms)
 2 small-packet tax ........................ ✓ clean (would have seen ≥ 2 %)
 3 interrupts and scheduling ............... ? could not judge: not collected by
                                               this version (hint: perf sched
                                               record)
 4 gradient lifecycle ...................... ✓ clean

No findings: 3 rules judged, all clean.

COVERAGE
  ? scheduler  unavailable: not collected by this version (hint: perf sched
    record)

CLEAN  with the smallest effect that would have been seen
  exposed-communication ≥ 0.4 ms · small-messages ≥ 2 % · sent-after-backward
)");
}

TEST_CASE("step 3 says what the scheduler's source did not see; of one that saw all, that its delays are not told") {
  Report report = unmeasured_report();
  report.coverage = {{.source = "scheduler delays", .state = CoverageState::partial, .reason = "few wake-ups"}};
  const std::string delays = "scheduling ............... ? could not judge: few wake-ups\n";
  CHECK(render_terminal(report, {.width = 120}).find(delays) != std::string::npos);
  report.coverage.push_back({.source = "scheduler", .state = CoverageState::unavailable, .reason = "no root"});
  const std::string nothing = "scheduling ............... ? could not judge: no root\n";
  CHECK(render_terminal(report, {.width = 120}).find(nothing) != std::string::npos);
}

TEST_CASE("nothing could be judged: it is said, and nothing looks healthy") {
  CHECK(render_terminal(unmeasured_report(), {.width = 120}) ==
        R"(gradsync-doctor 0.1.0   analyze trace.json

VERDICT  none: nothing was measured that could tell

step: time not measured

 1 compute and communication apart ......... ? could not judge exposed-communication, host-sync-in-hook: no steps were
                                               found (hint: mark steps with NVTX ranges)
 2 small-packet tax ........................ ? could not judge 2 rules (below)
 3 interrupts and scheduling ............... ? could not judge: nothing measured it (hint: gradsync-doctor check)
 4 gradient lifecycle ...................... ? could not judge: nothing measured it (hint: gradsync-doctor check)

Nothing could be judged.

COULD NOT JUDGE
  ? small-messages: no steps were found (hint: mark steps with NVTX ranges)
  ? fabric-startup: this fabric was never measured (hint: gradsync-doctor sweep)
)");
}

TEST_CASE(
    "reference compressors: a table for each size, sentences where it does not fit, no steps that nobody judged") {
  Report report;
  report.command = "bench";
  report.facts["job"] = "none";
  report.metrics = {{.name = "memory.read_gbytes_per_s", .value = 39.7},
                    {.name = "memory.copy_gbytes_per_s", .value = 40}};
  report.series["load_profiles"] = {
      "load_profiles",
      {"algorithm", "elements", "ms_p10", "ms_p50", "ms_p90", "n", "buckets", "roofline_percent", "wire_bytes",
       "wire_percent", "cosine", "decompress_ms"},
      {{std::string("cast16"), std::int64_t{100'000}, 0.04, 0.05, 0.06, std::int64_t{11}, std::int64_t{2}, 98.0,
        std::int64_t{200'000}, 50.0, 1.0, 0.1},
       {std::string("onebit_ef"), std::int64_t{25'600'000}, 6.8, 7.1, 7.9, std::int64_t{11}, std::int64_t{1}, 80.5,
        std::int64_t{3'206'252}, 3.13, 0.798, 7.2}}};
  const std::string table = render_terminal(report, {.width = 100});
  CHECK(section(table, "100K") ==
        R"(100K elements × 2
  load                  ms       p10 … p90    n  roofline       wire  of fp32  cosine  decode ms
  cast16              0.05     0.04 … 0.06   11      98 %    195 KiB     50 %   1.000        0.1
25.6M elements
  load                  ms       p10 … p90    n  roofline       wire  of fp32  cosine  decode ms
  onebit_ef            7.1       6.8 … 7.9   11    80.5 %   3.06 MiB    3.1 %   0.798        7.2
memory: read 39.7 GB/s, copy 40.0 GB/s
)");
  CHECK(table.find("judge") == std::string::npos);
  CHECK(section(render_terminal(report, {.width = 60}), "25.6M") ==
        R"(25.6M elements
  onebit_ef 7.1 ms, 80.5 % of the roofline, 3.06 MiB on the
    wire, cosine 0.798
memory: read 39.7 GB/s, copy 40.0 GB/s
)");
}

TEST_CASE("quiet: the verdict, and each finding with its saving") {
  CHECK(
      render_terminal(slow_topk_report(), {.width = 120, .verbosity = Verbosity::quiet}) ==
      R"(VERDICT  Compression costs you 17.3 ms of every 142.0 ms step: it sends 6.1 % of the bytes and makes sync 2.2× slower.
         Without it: 124.7 ms measured (±0.9, 24 steps each way).
1. ✖ dense-sync-still-present (error)   The whole gradient is still sent beside its compressed form
     saves     at most 17.3 ms
2. ✖ compress-not-overlapped   Compression starts after the last gradient is ready
     saves     −7.9 ms predicted (5.8 … 8.4), probability 97 %
3. ✖ late-rank (rank 1)   rank 1 keeps the others waiting
     saves     not predicted
? could not judge 1 rule
)");
}

TEST_CASE("an empty report draws, and claims nothing") {
  const std::string text = render_terminal({}, {});
  CHECK(text.find("Nothing could be judged.") != std::string::npos);
  CHECK(text.find("✓") == std::string::npos);
  CHECK(text.find("0 ranks") == std::string::npos);
}

TEST_CASE("parts of the step: measured zero is shown, unmeasured is not; shown parts add up to the shown step") {
  Report report;
  report.metrics = {{.name = "step.time_ms", .value = 10.0, .n = 9}};
  report.attribution = {
      {.scope = "all", .step = "median", .parts_ms = {{"compute", 8.24}, {"comm_transfer", 1.74}, {"idle", 0.02}}}};
  CHECK(section(render_terminal(report, {}), "step") == R"(step 10.0 ms (n 9)
     compute 8.3 ▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇  comm 1.7 ▇▇▇ (transfer 1.7)  idle 0.0
)");
  report.attribution[0].parts_ms = {{"compute", 10}, {"data", 0}, {"a_new_class", 0}};
  CHECK(section(render_terminal(report, {}), "step") == R"(step 10.0 ms (n 9)
     compute 10.0 ▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇  data 0  a_new_class 0
)");
  report.attribution[0].parts_ms.clear();
  CHECK(section(render_terminal(report, {}), "step") == "step 10.0 ms (n 9)\n");
}

TEST_CASE("rules that are judged rank by rank say for which rank") {
  Report report;
  report.findings = {fired("late-rank", 4, "rank:3"), fired("late-rank", 4, "rank:1")};
  for (const char* scope : {"rank:0", "rank:2"})
    report.findings.push_back({.rule = "late-rank", .step = 4, .scope = scope, .state = FindingState::clean});
  report.findings.push_back({.rule = "late-rank", .step = 4, .scope = "rank:4", .says = "it left no events"});
  report.metrics = {{.name = "straggler.late_ms", .scope = "rank:1", .value = 6, .n = 48},
                    {.name = "step.time_ms", .value = 50, .n = 48}};
  report.findings[1].evidence = {"straggler.late_ms", "step.time_ms"};
  const std::string text = render_terminal(report, {});
  CHECK(section(text, " 1").find(" 4 gradient lifecycle ...................... ✖ 2 findings · could not judge 1\n") !=
        std::string::npos);
  CHECK(section(text, "1.") == "1. ✖ late-rank (rank 3)   Something is slow\n     saves     not predicted\n");
  CHECK(section(text, "2.") == R"(2. ✖ late-rank (rank 1)   Something is slow
     evidence  straggler.late_ms 6.0 ms (n 48) ·
               step.time_ms 50.0 ms (n 48) over all
     saves     not predicted
)");
  CHECK(section(text, "COULD") == "COULD NOT JUDGE\n  ? late-rank (rank 4): it left no events\n");
  CHECK(text.find("  late-rank (rank 0, rank 2)\n") != std::string::npos);
}

TEST_CASE("a finding that another one explains stands below it, and never vanishes") {
  Report report;
  report.findings = {fired("cause", 1),  fired("symptom", 1),  fired("symptom-of-symptom", 2),
                     fired("orphan", 2), fired("circle-a", 4), fired("circle-b", 4)};
  report.findings[1].folded_under = "cause";
  report.findings[2].folded_under = "symptom";
  report.findings[3].folded_under = "not-fired";
  report.findings[4].folded_under = "circle-b";
  report.findings[5].folded_under = "circle-a";
  const std::string text = render_terminal(report, {});
  CHECK(section(text, "1.") == R"(1. ✖ cause   Something is slow
     saves     not predicted
     also seen: symptom   Something is slow
     also seen: symptom-of-symptom   Something is slow
)");
  CHECK(section(text, "2.").starts_with("2. ✖ orphan"));
  CHECK(section(text, "3.").starts_with("3. ✖ circle-a"));
  CHECK(section(text, "4.").starts_with("4. ✖ circle-b"));
}

TEST_CASE("savings") {
  struct Case {
    Saving saving;
    const char* text;
  };
  const Case cases[] = {
      {{.kind = SavingKind::bound, .p05 = 8.3, .p50 = 8.3, .p95 = 8.3}, "at most 8.3 ms"},
      {{.kind = SavingKind::predicted, .p05 = 5.8, .p50 = 7.9, .p95 = 8.4}, "−7.9 ms predicted (5.8 … 8.4)"},
      {{.kind = SavingKind::measured, .p05 = 16.4, .p50 = 17.3, .p95 = 18.2}, "−17.3 ms measured (16.4 … 18.2)"},
      {{.kind = SavingKind::predicted, .p05 = -2.1, .p50 = -1.2, .p95 = 0.5}, "+1.2 ms predicted (-2.1 … 0.5)"},
      {{.kind = SavingKind::predicted, .unit = "percent", .p05 = 2, .p50 = 3, .p95 = 4}, "−3 % predicted (2 … 4)"},
  };
  for (const Case& c : cases) {
    Report report;
    report.findings = {fired("r", 1)};
    report.findings[0].saves = c.saving;
    CHECK(section(render_terminal(report, {}), "1.") ==
          std::string("1. ✖ r   Something is slow\n     saves     ") + c.text + "\n");
  }
}

TEST_CASE("sources with the same trouble share a line, and long lists are cut with a count") {
  Report report;
  for (int rank = 0; rank < 20; ++rank)
    report.coverage.push_back({.source = "hook rank:" + std::to_string(rank),
                               .state = CoverageState::partial,
                               .reason = "buffer full",
                               .lost = 3});
  report.coverage.push_back({.source = "deep window"});
  CHECK(section(render_terminal(report, {.width = 160}) + "\n", "COVERAGE") ==
        "COVERAGE\n  ? hook rank:0, hook rank:1, hook rank:2, hook rank:3, hook rank:4, hook rank:5, hook rank:6, hook "
        "rank:7 and 12 more  partial: buffer full; 3 events lost in\n    each\n");
}

TEST_CASE("observer cost ends at the right edge when it fits") {
  Report report;
  report.tool.version = "0.1.0";
  report.command = "run";
  report.run = {.command_line = {"train"}, .ranks = 1, .exit_status = 137};
  report.metrics = {{.name = "observer.cost_percent", .value = 0.3}};
  const std::string text = render_terminal(report, {.width = 80});
  CHECK(text.substr(0, text.find('\n')) ==
        "gradsync-doctor 0.1.0   train   1 rank · exit status 137     observer cost 0.3 %");
  report.metrics.push_back({.name = "observer.ab_percent", .value = 0.2});
  CHECK(render_terminal(report, {}).find("observer cost 0.2 % (ABBA)") != std::string::npos);
}

}  // namespace gradsync
