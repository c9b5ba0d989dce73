#include <filesystem>
#include <fstream>
#include <sstream>

#include "src/diagnosis/check_rules.h"
#include "src/diagnosis/explain.h"
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
    CHECK(rule.file == "step" + std::to_string(rule.step) + "-" + rule.id + ".toml");
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
  CHECK(page.explains.empty());
  CHECK(page.explained_by.size() >= 6);
  CHECK(page.file == "step1-exposed-communication.toml");
  const RulePage hook = explain(rules, *rules.find("expensive-compress"));
  CHECK(hook.not_judged == Lines{"the compression has not started yet (compression.started is no)"});
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
