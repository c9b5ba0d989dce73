#include "src/diagnosis/parse_rule.h"

#include "tests/unit/diagnosis/written.h"

namespace gradsync {
namespace {

const std::string kCondition = "all = [ { metric = \"a.time_ms\", above = \"1 ms\" } ]";

Error error_of(const std::string& text) {
  const auto rules = make_rule_set({{{"dir/x.toml", text}}});
  REQUIRE_FALSE(rules);
  return rules.error();
}

}  // namespace

TEST_CASE("a rule with every key") {
  const RuleSet rules = rules_of({rule_text("other", kCondition), R"(
id            = "small-messages"
step          = 2
severity      = "error"
for_each      = "group"
priority      = 3
title         = "Title of {scope}"
says          = "{comm.message_bytes@p50}"
why           = "Because of {fact:backend}."
where         = "{fact:where.sync}"
try           = ["One", "Two"]
saves         = "predict.bucket_size.saved_ms"
explains      = ["other"]
judged_by     = "comm.message_bytes"
hint          = "measure it"
all           = [ { metric = "comm.message_bytes@p50", below = "64 KiB" },
                  { any = [ { fact = "backend", is = "gloo" }, { fact = "torch", at_least = "2.0" } ] } ]
any           = [ { metric = "step.time_ms", scope = "all", at_most = "1 s" }, { fact = "cuda", present = true } ]
not_judged_if = [ { fact = "compression.started", is = "no", because = "it has not started" } ]

[from]
"step.time_ms" = "chosen"

[[example]]
expect  = "fires"
scope   = "group:dp"
metrics = { "comm.message_bytes@p50" = 100, "step.time_ms" = 1.5 }
facts   = { backend = "gloo" }
)"});
  const Rule& rule = *rules.find("small-messages");
  CHECK(rule.step == 2);
  CHECK(rule.severity == Severity::error);
  CHECK(rule.for_each == "group");
  CHECK(rule.priority == 3);
  CHECK(rule.advice == Lines{"One", "Two"});
  CHECK(rule.explains == Lines{"other"});
  CHECK(rule.from.at("step.time_ms") == "chosen");
  REQUIRE(rule.conditions.members.size() == 3);
  CHECK(in_words(rule.conditions.members[0]) == "comm.message_bytes@p50 below 64 KiB");
  CHECK(in_words(rule.conditions.members[1]) == "any of: backend is gloo; torch is at least 2.0");
  CHECK(in_words(rule.conditions.members[2]) == "any of: step.time_ms of all at most 1000 ms; cuda is known");
  REQUIRE(rule.not_judged_if.size() == 1);
  CHECK(rule.not_judged_if[0].because == "it has not started");
  REQUIRE(rule.examples.size() == 1);
  CHECK(rule.examples[0].scope == "group:dp");
  CHECK(rule.examples[0].metrics.at("step.time_ms") == 1.5);
}

TEST_CASE("what is wrong with a rule is said with its file, line, key and a way out") {
  struct Case {
    const char* what;
    std::string text;
    const char* on;
    const char* why;
    const char* hint;  // its beginning; "" = any
  };
  const std::string rest = "\n" + kCondition;
  const Case cases[] = {
      {"not TOML", "id = \"a\"\nstep 1", "dir/x.toml:2", "", "this is not TOML"},
      {"no id", "step = 1", "dir/x.toml:1", "id: is missing", "add id ="},
      {"bad id", rule_text("Bad_Id", kCondition), "dir/x.toml:1", "id: 'Bad_Id' is not kebab-case", "lower-case"},
      {"unknown key", rule_text("a", "sayz = \"x\"" + rest), "dir/x.toml:8", "sayz: unknown key",
       "known keys: id, step"},
      {"wrong type", rule_text("a", "hint = 3" + rest), "dir/x.toml:8",
       "hint: a string is expected, not a whole number", ""},
      {"bad severity", rule_text("a", kCondition, "fatal"), "dir/x.toml:3", "severity: 'fatal' is none of its words",
       "one of: error, warning, info"},
      {"bad for_each", rule_text("a", "for_each = \"node\"" + rest), "dir/x.toml:8",
       "for_each: 'node' is no kind of scope", "one of: all, rank"},
      {"no condition", rule_text("a", ""), "dir/x.toml:1", "all: is missing", "a rule needs conditions"},
      {"empty group", rule_text("a", "all = []"), "dir/x.toml:8", "all: an empty list says nothing", ""},
      {"no unit", rule_text("a", "all = [ { metric = \"a.time_ms\", above = 30 } ]"), "dir/x.toml:8",
       "above: '30' needs a unit: the metric is in ms", "write it like \"8 ms\""},
      {"two thresholds", rule_text("a", "all = [ { metric = \"a.b\", above = 1, below = 3 } ]"), "dir/x.toml:8",
       "metric: more than one threshold", "give one of above, below"},
      {"no threshold", rule_text("a", "all = [ { metric = \"a.b\" } ]"), "dir/x.toml:8", "metric: no threshold", ""},
      {"arithmetic", rule_text("a", "all = [ { metric = \"a.b\", above = 1, times = 2 } ]"), "dir/x.toml:8",
       "times: unknown key", "known keys: all, any, any_known, metric, scope, above"},
      {"fact without test", rule_text("a", "all = [ { fact = \"backend\" } ]"), "dir/x.toml:8", "fact: no test", ""},
      {"fact with two tests", rule_text("a", "all = [ { fact = \"torch\", is = \"2\", below = \"3\" } ]"),
       "dir/x.toml:8", "fact: more than one test", ""},
      {"no version", rule_text("a", "all = [ { fact = \"torch\", below = \"new\" } ]"), "dir/x.toml:8",
       "below: 'new' is not a version", ""},
      {"condition on nothing", rule_text("a", "all = [ { above = 3 } ]"), "dir/x.toml:8", "a condition tests nothing",
       "write {"},
      {"condition is no table", rule_text("a", "all = [ 3 ]"), "dir/x.toml:8",
       "a whole number stands where a table belongs", ""},
      {"bad placeholder", rule_text("a", "where = \"{scop}\"" + rest), "dir/x.toml:8",
       "where: {scop} is neither a metric", ""},
      {"saves no time", rule_text("a", "saves = \"a.b_percent\"" + rest), "dir/x.toml:8",
       "saves: a.b_percent is not a time", "name a metric in ms or us"},
      {"no reason", rule_text("a", "not_judged_if = [ { fact = \"x\", is = \"y\" } ]" + rest), "dir/x.toml:8",
       "not_judged_if: an entry has no reason", "add because"},
      {"from nothing", rule_text("a", kCondition + "\n[from]\n\"a.other_ms\" = \"x\""), "dir/x.toml:9",
       "from: no condition tests a.other_ms", ""},
      {"bad example", rule_text("a", kCondition + "\n[[example]]\nexpect = \"fire\""), "dir/x.toml:10",
       "expect: 'fire' is none of its words", "one of: fires, clean, could_not_judge"},
      {"explains nobody", rule_text("a", "explains = [\"b\"]" + rest), "dir/x.toml:1", "explains: there is no rule 'b'",
       ""},
  };
  for (const Case& one : cases) {
    CAPTURE(one.what);
    const Error error = error_of(one.text);
    CHECK(error.what == "cannot load rule file");
    CHECK(error.on == one.on);
    CHECK(error.why.substr(0, std::string(one.why).size()) == one.why);
    CHECK(error.hint.substr(0, std::string(one.hint).size()) == one.hint);
    CHECK(error.exit_status == 2);
  }
}

TEST_CASE("files that are no rules at all") {
  CHECK(error_of("").why == "id: is missing");
  CHECK(error_of(std::string("\0\x01", 2)).what == "cannot load rule file");
  CHECK(error_of("id = 'a'\ntitle = 'caf\xe9'").on == "dir/x.toml:2");
  CHECK(error_of("id = 'a'\ntitle = 'caf\xe9'").why == "a byte is not UTF-8");
  CHECK(error_of("a = " + std::string(100000, '[')).why == "nested too deeply");
  CHECK(error_of("{\"id\": \"json\"}").what == "cannot load rule file");
  CHECK(error_of("id = \"a\"\nid = \"b\"").on == "dir/x.toml:2");
}

TEST_CASE("rules that explain each other in a circle are refused") {
  const auto rules = make_rule_set({{{"a.toml", rule_text("a", "explains = [\"b\"]\n" + kCondition)},
                                     {"b.toml", rule_text("b", "explains = [\"a\"]\n" + kCondition)}}});
  REQUIRE_FALSE(rules);
  CHECK(rules.error().why == "explains: 'a' explains itself in a circle");
}

TEST_CASE("one id in two files of a folder is refused") {
  const auto rules = make_rule_set({{{"a.toml", rule_text("a", kCondition)}, {"b.toml", rule_text("a", kCondition)}}});
  REQUIRE_FALSE(rules);
  CHECK(rules.error().on == "b.toml:1");
  CHECK(rules.error().why == "id: 'a' is taken by another file of this folder");
}

}  // namespace gradsync
