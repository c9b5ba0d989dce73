#include "src/diagnosis/diagnose.h"

#include "tests/unit/diagnosis/written.h"

namespace gradsync {
namespace {

std::string above_one(const std::string& metric) { return "all = [ { metric = \"" + metric + "\", above = 1 } ]"; }

}  // namespace

TEST_CASE("a rule for each rank judges each rank, with the run's facts") {
  const RuleSet rules = rules_of({rule_text("late",
                                            "for_each = \"rank\"\nall = [ { metric = \"a.late\", above = 1 }, "
                                            "{ fact = \"backend\", is = \"gloo\" } ]")});
  const MetricSet metrics = metrics_of({{"a.late", 0, "rank:0"}, {"a.late", 3, "rank:2"}, {"a.late", 3, "rank:10"}});
  CHECK(summary(diagnose(rules, metrics, {{"backend", "gloo"}})) ==
        Lines{"late rank:2 fired", "late rank:10 fired", "late rank:0 clean"});
  CHECK(diagnose(rules, metrics, {{"backend", "gloo"}})[1].says == "rank 10");
  // The fact decides alone, and alike for all: one line.
  CHECK(summary(diagnose(rules, metrics, {{"backend", "nccl"}})) == Lines{"late all clean"});
  // Unknown for two ranks, clean for the third: not the same, so each is said.
  CHECK(summary(diagnose(rules, metrics, {})) ==
        Lines{"late rank:2 could_not_judge", "late rank:10 could_not_judge", "late rank:0 clean"});
}

TEST_CASE("a rule for each rank of a run without ranks is judged once") {
  const RuleSet rules = rules_of({rule_text("late", "for_each = \"rank\"\n" + above_one("a.late"))});
  CHECK(summary(diagnose(rules, metrics_of({{"a.late", 3}}), {})) == Lines{"late all fired"});
  CHECK(summary(diagnose(rules, {}, {})) == Lines{"late all could_not_judge"});
}

TEST_CASE("a rule about devices judges those of which anything of its kind is known") {
  const RuleSet rules = rules_of({rule_text("lost", "for_each = \"device\"\n" + above_one("nic.drops"))});
  const MetricSet metrics =
      metrics_of({{"nic.drops", 3, "device:eth0"}, {"nic.bytes", 9, "device:tcp"}, {"gpu.clock", 9, "device:gpu0"}});
  CHECK(summary(diagnose(rules, metrics, {})) == Lines{"lost device:eth0 fired", "lost device:tcp could_not_judge"});
  const MetricSet others = metrics_of({{"gpu.clock", 9, "device:gpu0"}});
  CHECK(summary(diagnose(rules, others, {})) == Lines{"lost all could_not_judge"});
}

TEST_CASE("could not judge names what is missing; the rule's hint goes before a made one") {
  const RuleSet rules =
      rules_of({rule_text("made", "all = [ { metric = \"a.b\", above = 1 }, { fact = \"torch\", is = \"2\" } ]"),
                rule_text("told", "hint = \"run it twice\"\n" + above_one("a.b"))});
  const auto findings = diagnose(rules, {}, {});
  CHECK(findings[0].says == "not measured: a.b, fact torch");
  CHECK(findings[0].hint == "needs a.b, fact torch");
  CHECK(findings[1].says == "not measured: a.b");
  CHECK(findings[1].hint == "run it twice");
}

TEST_CASE("collapsed scopes say everything that is missing in any of them") {
  const RuleSet rules = rules_of({rule_text("late",
                                            "for_each = \"rank\"\nall = [ { metric = \"a.b\", above = 1 }, "
                                            "{ metric = \"a.c\", above = 1 } ]")});
  const auto findings = diagnose(rules, metrics_of({{"a.b", 3, "rank:0"}, {"a.c", 3, "rank:1"}}), {});
  REQUIRE(summary(findings) == Lines{"late all could_not_judge"});
  CHECK(findings[0].says == "not measured: a.c; not measured: a.b");
}

TEST_CASE("an obstacle prevents both a finding and a clean bill") {
  const RuleSet rules = rules_of({rule_text("a",
                                            "hint = \"wait\"\nnot_judged_if = [ { fact = \"started\", is = \"no\", "
                                            "because = \"it has not started\" } ]\n" +
                                                above_one("a.b"))});
  for (const double value : {0.0, 5.0}) {
    const auto findings = diagnose(rules, metrics_of({{"a.b", value}}), {{"started", "no"}});
    REQUIRE(summary(findings) == Lines{"a all could_not_judge"});
    CHECK(findings[0].says == "it has not started");
    CHECK(findings[0].hint == "wait");
  }
  CHECK(summary(diagnose(rules, metrics_of({{"a.b", 5}}), {{"started", "yes"}})) == Lines{"a all fired"});
  CHECK(summary(diagnose(rules, metrics_of({{"a.b", 5}}), {})) == Lines{"a all fired"});  // unknown is no obstacle
}

TEST_CASE("order: errors, warnings by what they could recover, infos, then what is not a finding") {
  const RuleSet rules = rules_of({
      rule_text("a-info", "saves = \"x.huge_ms\"\n" + above_one("a.b"), "info"),
      rule_text("b-small", "saves = \"x.small_ms\"\n" + above_one("a.b")),
      rule_text("c-none", above_one("a.b")),
      rule_text("d-large", "saves = \"x.large_ms\"\n" + above_one("a.b")),
      rule_text("e-error", above_one("a.b"), "error"),
      rule_text("f-symptom", "saves = \"x.huge_ms\"\n" + above_one("a.b")),
      rule_text("g-cause", "explains = [\"f-symptom\"]\n" + above_one("a.absent")),
      rule_text("h-preferred", "priority = 1\nsaves = \"x.small_ms\"\n" + above_one("a.b")),
      rule_text("i-clean", above_one("a.zero")),
      rule_text("j-last", above_one("a.b")),
  });
  const MetricSet metrics =
      metrics_of({{"a.b", 2}, {"a.zero", 0}, {"x.small_ms", 1}, {"x.large_ms", 8}, {"x.huge_ms", 50}});
  const Lines expected{"e-error all fired",     "f-symptom all fired", "d-large all fired",
                       "h-preferred all fired", "b-small all fired",   "c-none all fired",
                       "j-last all fired",      "a-info all fired",    "g-cause all could_not_judge",
                       "i-clean all clean"};
  CHECK(summary(diagnose(rules, metrics, {})) == expected);
}

TEST_CASE("what a fired rule explains is folded under it, through several hands") {
  const RuleSet rules = rules_of({
      rule_text("cause", "explains = [\"middle\"]\n" + above_one("a.cause")),
      rule_text("middle", "explains = [\"symptom\"]\nsaves = \"x.large_ms\"\n" + above_one("a.middle")),
      rule_text("symptom", "saves = \"x.large_ms\"\n" + above_one("a.symptom")),
      rule_text("other", above_one("a.other")),
  });
  const auto judged = [&](double cause, double middle) {
    return diagnose(
        rules,
        metrics_of({{"a.cause", cause}, {"a.middle", middle}, {"a.symptom", 2}, {"a.other", 2}, {"x.large_ms", 9}}),
        {});
  };
  const auto both = judged(2, 2);
  CHECK(summary(both) ==
        Lines{"cause all fired", "other all fired", "middle all fired under cause", "symptom all fired under cause"});
  CHECK(both[0].explains == Lines{"middle", "symptom"});
  CHECK(both[2].explains.empty());
  CHECK(summary(judged(0, 2)) ==
        Lines{"middle all fired", "other all fired", "symptom all fired under middle", "cause all clean"});
  CHECK(summary(judged(0, 0)) == Lines{"symptom all fired", "other all fired", "cause all clean", "middle all clean"});
}

TEST_CASE("an error is never folded; one rank does not explain another") {
  const RuleSet rules = rules_of({
      rule_text("cause", "for_each = \"rank\"\nexplains = [\"error\", \"effect\", \"whole\"]\n" + above_one("a.cause")),
      rule_text("error", above_one("a.whole"), "error"),
      rule_text("effect", "for_each = \"rank\"\n" + above_one("a.effect")),
      rule_text("whole", above_one("a.whole")),
  });
  const MetricSet metrics = metrics_of({{"a.cause", 2, "rank:1"},
                                        {"a.cause", 0, "rank:0"},
                                        {"a.effect", 2, "rank:0"},
                                        {"a.effect", 2, "rank:1"},
                                        {"a.whole", 2}});
  CHECK(summary(diagnose(rules, metrics, {})) == Lines{"error all fired", "cause rank:1 fired", "effect rank:0 fired",
                                                       "effect rank:1 fired under cause", "whole all fired under cause",
                                                       "cause rank:0 clean"});
}

TEST_CASE("savings: predicted and measured by name, everything else bounds") {
  const auto saving = [](const std::string& metric, const MetricSet& metrics) {
    const RuleSet rules = rules_of({rule_text("a", "saves = \"" + metric + "\"\n" + above_one("a.b"))});
    return diagnose(rules, metrics, {})[0].saves;
  };
  MetricSet metrics = metrics_of(
      {{"a.b", 2}, {"x.exposed_ms", 8}, {"x.wait_us", 500}, {"x.none_ms", 0}, {"predict.fp16_hook.probability", 0.9}});
  metrics.add({"predict.fp16_hook.saved_ms", "all", 7.9, 500, 5.8, 7.9, 8.4, "whatif", {}});
  metrics.add({"measured.no_compression.saved_ms", "all", -3, 24, {}, {}, {}, "ab", {}});
  const auto bound = saving("x.exposed_ms", metrics);
  REQUIRE(bound);
  CHECK(bound->kind == SavingKind::bound);
  CHECK((bound->p05 == 8 && bound->p50 == 8 && bound->p95 == 8));
  CHECK(saving("x.wait_us", metrics)->p50 == 0.5);
  CHECK_FALSE(saving("x.none_ms", metrics));    // nothing to recover is no saving
  CHECK_FALSE(saving("x.absent_ms", metrics));  // the finding stays
  const auto predicted = saving("predict.fp16_hook.saved_ms", metrics);
  CHECK(predicted->kind == SavingKind::predicted);
  CHECK((predicted->p05 == 5.8 && predicted->p50 == 7.9 && predicted->p95 == 8.4));
  CHECK(predicted->probability == 0.9);
  metrics.add({"predict.no_compression.saved_ms", "all", -40, 500, -45, -40, -35, "whatif", {}});
  CHECK_FALSE(saving("predict.no_compression.saved_ms", metrics));  // it would cost: the next of a list is asked
  const RuleSet listed = rules_of(
      {rule_text("a", "saves = [\"predict.no_compression.saved_ms\", \"x.exposed_ms\"]\n" + above_one("a.b"))});
  CHECK(diagnose(listed, metrics, {})[0].saves->kind == SavingKind::bound);
  const auto measured = saving("measured.no_compression.saved_ms", metrics);
  CHECK(measured->kind == SavingKind::measured);
  CHECK(measured->p50 == -3);
}

TEST_CASE("a finding carries its numbers, its place and its advice") {
  const RuleSet rules = rules_of({R"(
id = "a"
step = 3
severity = "warning"
title = "T"
says = "{a.b} of {a.c_ms}"
why = "Since {a.b}."
where = "{fact:where.compress}"
try = ["Lower {a.b}"]
all = [ { metric = "a.b", above = 1 }, { any = [ { metric = "a.absent", above = 1 }, { metric = "a.d", above = 1 } ] } ]
)"});
  const MetricSet metrics = metrics_of({{"a.b", 2}, {"a.c_ms", 4}, {"a.d", 5}});
  const Finding finding = diagnose(rules, metrics, {{"where.compress", "train.py:87 in hook"}})[0];
  CHECK(finding.step == 3);
  CHECK(finding.says == "2 of 4.0 ms");
  CHECK(finding.why == "Since 2.");
  CHECK(finding.where == "train.py:87 in hook");
  CHECK(finding.advice == Lines{"Lower 2"});
  CHECK(finding.evidence == Lines{"a.b", "a.d", "a.c_ms"});
  CHECK(diagnose(rules, metrics, {})[0].where.empty());
}

TEST_CASE("clean findings tell the smallest problem that would have been seen") {
  const RuleSet rules =
      rules_of({rule_text("a", "for_each = \"rank\"\njudged_by = \"x.late_ms\"\n" + above_one("a.b"))});
  const auto clean = [&](std::optional<double> first, std::optional<double> second) {
    MetricSet metrics = metrics_of({{"a.b", 0, "rank:0"}, {"a.b", 0, "rank:1"}});
    metrics.add({"x.late_ms", "rank:0", 1, 30, {}, {}, {}, "", first});
    metrics.add({"x.late_ms", "rank:1", 1, 30, {}, {}, {}, "", second});
    return diagnose(rules, metrics, {})[0];
  };
  CHECK(clean(0.4, 0.7).would_have_seen == 0.7);
  CHECK(clean(0.4, 0.7).would_have_seen_unit == "ms");
  CHECK_FALSE(clean(0.4, {}).would_have_seen);
}

}  // namespace gradsync
