#include "src/diagnosis/rule_set.h"

#include <algorithm>
#include <filesystem>

#include "src/diagnosis/explain.h"
#include "tests/support/folder.h"
#include "tests/unit/diagnosis/written.h"

namespace gradsync {
namespace {

namespace fs = std::filesystem;

const std::string kTwoThresholds =
    "all = [ { metric = \"a.share_percent\", above = \"30 %\" }, { metric = \"a.size_bytes\", below = \"64 KiB\" } ]";
const std::string kFrom = "\n[from]\n\"a.share_percent\" = \"chosen\"";

Error refused(const std::string& setting) {
  RuleSet rules =
      rules_of({rule_text("one", kTwoThresholds), rule_text("two", "all = [ { fact = \"x\", is = \"y\" } ]"),
                rule_text("range", "all = [ { metric = \"a.b\", above = 1 }, { metric = \"a.b\", below = 5 } ]")});
  const auto set = set_threshold(rules, setting);
  REQUIRE_FALSE(set);
  CHECK(set.error().what == "cannot set");
  CHECK(set.error().on == "'" + setting + "'");
  CHECK(set.error().exit_status == 2);
  return set.error();
}

}  // namespace

TEST_CASE("--set changes one threshold, and the rule set's version") {
  RuleSet rules = rules_of({rule_text("one", kTwoThresholds + kFrom)});
  const std::string before = rules.version;
  REQUIRE(set_threshold(rules, "one.a.share_percent = 5 %"));
  REQUIRE(set_threshold(rules, "one.a.size_bytes=1 MiB"));
  CHECK(settable(rules) == Lines{"one.a.share_percent=5 %", "one.a.size_bytes=1 MiB"});
  CHECK(rules.version != before);
  const RulePage page = explain(rules, rules.rules[0]);
  CHECK(page.thresholds[0].text == "a.share_percent above 5 %");
  CHECK(page.thresholds[0].from == "--set; built in: a.share_percent above 30 %");
}

TEST_CASE("what --set cannot do it says, with what can be set") {
  CHECK(refused("one").why == "RULE.METRIC=VALUE is expected");
  CHECK(refused("one=3").why == "RULE.METRIC=VALUE is expected");
  const Error no_rule = refused("three.a.b=3");
  CHECK(no_rule.why == "there is no rule 'three'");
  CHECK(no_rule.hint == "can be set: one.a.share_percent=30 %, one.a.size_bytes=64 KiB, range.a.b=1, range.a.b=5");
  const Error no_metric = refused("one.a.b=3");
  CHECK(no_metric.why == "the rule has no threshold on 'a.b'");
  CHECK(no_metric.hint == "can be set: one.a.share_percent=30 %, one.a.size_bytes=64 KiB");
  CHECK(refused("two.a.b=3").hint == "write --set RULE.METRIC=VALUE");
  CHECK(refused("range.a.b=3").why == "the rule has 2 thresholds on 'a.b'");
  CHECK(refused("one.a.share_percent=5").why == "'5' needs a unit: the metric is in percent");
  CHECK(refused("one.a.share_percent=5 ms").hint == "write it like \"30 %\"");
}

TEST_CASE("--rules adds rules and replaces those with the same id") {
  const test::Folder folder;
  folder.put("mine.toml", rule_text("my-rule", kTwoThresholds));
  folder.put("other-name.toml", rule_text("data-loading-bound", kTwoThresholds));
  folder.put("notes.txt", "not read");
  const auto builtin = builtin_rules();
  const auto rules = load_rules({{folder.path()}, {"my-rule.a.share_percent=1 %"}});
  REQUIRE(builtin);
  REQUIRE_MESSAGE(rules, rules.error().message());
  CHECK(rules->rules.size() == builtin->rules.size() + 1);
  CHECK(rules->find("my-rule") != nullptr);
  CHECK(rules->find("data-loading-bound")->title == "Title of data-loading-bound");
  CHECK(rules->version != builtin->version);
  CHECK(std::is_sorted(rules->rules.begin(), rules->rules.end(),
                       [](const Rule& a, const Rule& b) { return a.id < b.id; }));
  CHECK(rules->verdict.cases.size() == builtin->verdict.cases.size());
}

TEST_CASE("--rules puts name classes first and replaces the verdict") {
  const test::Folder folder;
  folder.put("kernels.toml", "range = [ { pattern = 'my_squeeze', meaning = \"compress\" } ]");
  folder.put("verdict.toml",
             "[saving]\nbound = \"b\"\npredicted = \"p\"\nmeasured = \"m\"\n[[case]]\nid = \"x\"\ntext = \"Y\"");
  const auto rules = load_rules({{folder.path()}, {}});
  REQUIRE_MESSAGE(rules, rules.error().message());
  CHECK(rules->ranges.front().pattern == "my_squeeze");
  CHECK(rules->ranges.size() > 1);
  CHECK(rules->verdict.cases.size() == 1);
}

TEST_CASE("folders that hold no rules are errors") {
  const auto missing = load_rules({{"/nonexistent/rules"}, {}});
  REQUIRE_FALSE(missing);
  CHECK(missing.error().message() == "cannot read rules in /nonexistent/rules: No such file or directory");
  const test::Folder folder;
  const auto empty = load_rules({{folder.path()}, {}});
  REQUIRE_FALSE(empty);
  CHECK(empty.error().why == "no file there ends with .toml");
  folder.put("broken.toml", "id = ");
  const auto broken = load_rules({{folder.path()}, {}});
  REQUIRE_FALSE(broken);
  CHECK(broken.error().on == (folder.path() / "broken.toml").string() + ":1");
}

TEST_CASE("the version is a hash of the contents") {
  CHECK(fnv1a("") == "cbf29ce484222325");
  CHECK(fnv1a("foobar") == "85944171f73967e8");
  const std::string text = rule_text("one", kTwoThresholds);
  CHECK(rules_of({text}).version == rules_of({text}).version);
  CHECK(rules_of({text}).version != rules_of({text + "# a comment\n"}).version);
}

}  // namespace gradsync
