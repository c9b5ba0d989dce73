#include <filesystem>
#include <fstream>
#include <sstream>

#include "src/diagnosis/check_rules.h"
#include "src/diagnosis/diagnose.h"
#include "src/diagnosis/explain.h"
#include "src/diagnosis/known_names.h"
#include "src/diagnosis/placeholder.h"
#include "tests/unit/diagnosis/written.h"

namespace gradsync {
namespace {

RuleSet builtin() {
  auto rules = builtin_rules();
  REQUIRE_MESSAGE(rules, rules.error().message());
  return std::move(*rules);
}

std::string text_of(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("the built-in rules are the files of rules/, byte for byte") {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(GSD_RULES)) files += entry.path().extension() == ".toml";
  CHECK(builtin_rule_files().size() == files);
  for (const RuleFile& file : builtin_rule_files()) {
    CAPTURE(file.name);
    CHECK(file.text == text_of(std::filesystem::path(GSD_RULES) / file.name));
  }
}

TEST_CASE("every built-in rule judges its own examples as it says") {
  const RuleCheck check = check_rules(builtin());
  for (const RuleProblem& problem : check.problems)
    FAIL_CHECK(problem.file << ":" << problem.line << ": " << problem.rule << " " << problem.what);
  CHECK(check.passed());
  CHECK(check.rules >= 15);
  CHECK(check.examples >= 3 * check.rules);
}

TEST_CASE("files are named after step and id") {
  for (const Rule& rule : builtin().rules)
    CHECK(rule.file ==
          (rule.known_issue.empty() ? "step" + std::to_string(rule.step) + "-" + rule.id : "known_issues") + ".toml");
}

TEST_CASE("every threshold says where it comes from") {
  for (const Rule& rule : builtin().rules)
    for (const MetricCondition* condition : metric_conditions(rule.conditions)) {
      CAPTURE(rule.id);
      CAPTURE(condition->metric);
      CHECK(rule.from.contains(condition->metric));
    }
}

TEST_CASE("every rule that cannot judge says what would help") {
  for (const Rule& rule : builtin().rules) CHECK_MESSAGE(!rule.hint.empty(), rule.id);
}

TEST_CASE("rules about compression do not judge a hook that has not started") {
  const RuleSet rules = builtin();
  for (const char* id : {"compress-not-overlapped", "expensive-compress", "per-tensor-compression",
                         "dense-sync-still-present", "topk-through-allreduce", "host-sync-in-hook"}) {
    CAPTURE(id);
    REQUIRE(rules.find(id) != nullptr);
    CHECK_FALSE(rules.find(id)->not_judged_if.empty());
  }
}

TEST_CASE("the page of a rule") {
  const RuleSet rules = builtin();
  const RulePage page = explain(rules, *rules.find("exposed-communication"));
  CHECK(page.title == "Training waits for communication");
  CHECK(page.severity == "warning");
  CHECK(page.step == 1);
  REQUIRE(page.thresholds.size() == 1);
  CHECK(page.thresholds[0].text == "comm.exposed_percent above 10 %");
  CHECK(page.thresholds[0].from.find("noop_hook") != std::string::npos);
  CHECK(page.explains == Lines{"communication-not-overlapped"});
  CHECK(page.order == Lines{"after, and not together with: small-buckets, small-messages"});
  CHECK(page.explained_by.size() >= 6);
  CHECK(page.file == "step1-exposed-communication.toml");
  const RulePage hook = explain(rules, *rules.find("expensive-compress"));
  CHECK(hook.not_judged == Lines{"the compression has not started yet (compression.started is no)"});
}

TEST_CASE("known issues: versions, where they were reported and when that was looked at, and a symptom") {
  const RuleSet rules = builtin();
  std::size_t issues = 0;
  for (const Rule& rule : rules.rules) {
    if (rule.known_issue.empty()) continue;
    ++issues;
    CAPTURE(rule.id);
    CHECK(rule.title.starts_with("Possible: "));
    CHECK(rule.severity == Severity::info);
    CHECK(rule.known_issue.starts_with("https://"));
    CHECK_FALSE(metric_conditions(rule.conditions).empty());
  }
  CHECK(issues >= 10);
  const RulePage page = explain(rules, *rules.find("known-issue-nccl-peermem-name"));
  CHECK(page.thresholds[0].text == "nccl.version is below 2.23.4");
  CHECK(page.known_issue == "https://github.com/NVIDIA/nccl/issues/1676 (looked at 2026-11-30)");
}

// Whatever fires together in an example of any rule: advice that excludes other advice has an order.
TEST_CASE("the findings of no example contradict each other") {
  const RuleSet rules = builtin();
  for (const Rule& rule : rules.rules)
    for (const Example& example : rule.examples)
      for (const auto& [first, second] :
           contradictions(rules, diagnose(rules, metrics_of_example(example), example.facts)))
        FAIL_CHECK(rule.id << ", example of line " << example.line << ": " << first << " and " << second);
}

TEST_CASE("advice of two rules that exclude each other: an order, or a contradiction") {
  const auto rule = [](const char* id, const char* more) {
    return rule_text(id, std::string("all = [ { metric = \"a.b\", above = 1 } ]\n") + more);
  };
  MetricSet metrics;
  metrics.add({"a.b", "all", 3, 1, {}, {}, {}, "", {}});
  const RuleSet torn = rules_of({rule("a", "excludes = [\"b\"]\n"), rule("b", "")});
  const auto found = contradictions(torn, diagnose(torn, metrics, {}));
  REQUIRE(found.size() == 1);
  CHECK(found[0] == std::pair<std::string, std::string>{"a", "b"});
  const RuleSet ordered = rules_of({rule("a", "excludes = [\"b\"]\nbefore = [\"b\"]\n"), rule("b", "")});
  const auto findings = diagnose(ordered, metrics, {});
  CHECK(contradictions(ordered, findings).empty());
  CHECK(findings[1].advice.front() == "Only after what a advises, and if it is still found then");
  const RuleSet folded = rules_of({rule("a", "excludes = [\"b\"]\nexplains = [\"b\"]\n"), rule("b", "")});
  CHECK(contradictions(folded, diagnose(folded, metrics, {})).empty());
}

TEST_CASE("names that no analyzer writes are found, with their line") {
  for (const Rule& rule : builtin().rules)
    for (const RuleProblem& problem : unknown_names(rule, "")) FAIL_CHECK(problem.rule << ": " << problem.what);
  const std::string text = rule_text("a",
                                     "all = [ { metric = \"comm.exposed_percent@p90\", above = \"3 %\" },\n"
                                     "        { metric = \"comm.shown_ms\", above = \"3 ms\" },\n"
                                     "        { fact = \"colour\", is = \"blue\" } ]\n"
                                     "where = \"{fact:where.sync} {phase.forward_ms} {load.topk_sort.cuda.ms}\"");
  const auto problems = unknown_names(*rules_of({text}).find("a"), text);
  REQUIRE(problems.size() == 2);
  CHECK(problems[0].what == "no metric is called comm.shown_ms; docs/metrics.md lists them");
  CHECK(problems[0].line == 9);
  CHECK(problems[1].what == "no fact is called colour; docs/metrics.md lists them");
  CHECK(problems[1].line == 10);
}

TEST_CASE("an entry of known issues that lacks something says what and where") {
  const std::string symptom = "all = [ { metric = \"comm.exposed_percent\", above = \"3 %\" } ]\n";
  const auto error = [&](const std::string& own, const std::string& all) {
    std::string text = rule_text("known-issue-x", own + all);
    text.replace(text.find("severity = \"warning\"\n"), 21, "");
    const auto rules = make_rule_set({{{"known_issues.toml", "[[issue]]\n" + text}}});
    return rules ? std::string("none") : rules.error().message();
  };
  const std::string whole = "component = \"torch\"\nsince = \"2.7\"\nlink = \"https://a.b\"\ndated = \"2026-11-30\"\n";
  const auto without = [&](const char* key) {
    std::string text = whole;
    const std::size_t at = text.find(key);
    return error(text.erase(at, text.find('\n', at) + 1 - at), symptom);
  };
  CHECK(error(whole, symptom) == "none");
  CHECK(without("component").find("known_issues.toml:1: component") != std::string::npos);
  CHECK(without("since").find("neither since nor fixed_in") != std::string::npos);
  CHECK(without("link").find("link") != std::string::npos);
  CHECK(without("dated").find("no date") != std::string::npos);
  CHECK(error(whole, "all = [ { fact = \"device\", is = \"cuda\" } ]\n").find("no symptom") != std::string::npos);
}

TEST_CASE("a rule without its three examples, or with a wrong one, fails the check") {
  const RuleSet rules = rules_of({rule_text("a", R"(
all = [ { metric = "a.b", above = 1 } ]
[[example]]
expect = "fires"
metrics = { "a.b" = 1 }
[[example]]
expect = "clean"
)")});
  const RuleCheck check = check_rules(rules);
  REQUIRE(check.problems.size() == 3);
  CHECK(check.problems[0].what == "has no example that expects could_not_judge");
  CHECK(check.problems[1].what == "expected fires, got clean");
  CHECK(check.problems[1].line == 10);
  CHECK(check.problems[2].what == "expected clean, got could_not_judge (not measured: a.b)");
}

TEST_CASE("an example that fires holds every number of its sentence") {
  const RuleSet rules =
      rules_of({"id = \"a\"\nstep = 1\nseverity = \"info\"\ntitle = \"T\"\nsays = \"{a.c_ms}\"\nwhy = \"W\"\n"
                "try = [\"t\"]\nall = [ { metric = \"a.b@p90\", above = 1 } ]\n"
                "[[example]]\nexpect = \"fires\"\nmetrics = { \"a.b@p90\" = 3 }\n"
                "[[example]]\nexpect = \"clean\"\nmetrics = { \"a.b@p90\" = 0, \"a.b\" = 5 }\n"
                "[[example]]\nexpect = \"could_not_judge\"\nmetrics = { \"a.b\" = 5 }\n"});
  const RuleCheck check = check_rules(rules);
  REQUIRE(check.problems.size() == 1);
  CHECK(check.problems[0].what == "fires, but a number of its sentence is missing: (not measured)");
}

}  // namespace gradsync
