#include "src/diagnosis/condition.h"

#include <cmath>
#include <limits>

#include "tests/unit/diagnosis/written.h"

namespace gradsync {
namespace {

// y = yes, n = no, ? = unknown, by way of a metric that is 1, 0 or absent.
Condition condition_of(char truth) {
  const std::string name = truth == 'y' ? "a.yes" : truth == 'n' ? "a.no" : "a.absent";
  return {MetricCondition{name, "", Comparison::above, 0.5}};
}

char letter(Truth truth) { return truth == Truth::yes ? 'y' : truth == Truth::no ? 'n' : '?'; }

const MetricSet kMetrics = metrics_of({{"a.yes", 1}, {"a.no", 0}});
const Facts kNoFacts;

std::string table_of(ConditionGroup::Kind kind) {
  std::string table;
  for (const char left : {'y', '?', 'n'})
    for (const char right : {'y', '?', 'n'}) {
      const ConditionGroup group{kind, {condition_of(left), condition_of(right)}};
      table += letter(evaluate(group, {kMetrics, kNoFacts, "all"}));
    }
  return table;
}

Truth judge_fact(const FactCondition& condition, const Facts& facts) {
  return evaluate(Condition{condition}, {kMetrics, facts, "all"});
}

}  // namespace

TEST_CASE("all and any follow three-valued logic") {
  //                                                  yy y? yn  ?y ?? ?n  ny n? nn
  CHECK(table_of(ConditionGroup::Kind::all) == "y?n??nnnn");
  CHECK(table_of(ConditionGroup::Kind::any) == "yyyy??y?n");
  CHECK(table_of(ConditionGroup::Kind::any_known) == "yyyy?nynn");
  CHECK(evaluate(ConditionGroup{ConditionGroup::Kind::all, {}}, {kMetrics, kNoFacts}) == Truth::yes);
  CHECK(evaluate(ConditionGroup{ConditionGroup::Kind::any, {}}, {kMetrics, kNoFacts}) == Truth::no);
}

TEST_CASE("groups nest: a known branch of any decides, an unknown one does not spoil it") {
  const auto all_of_any = [](char inner, char other, char outer) {
    const ConditionGroup any{ConditionGroup::Kind::any, {condition_of(inner), condition_of(other)}};
    return letter(
        evaluate(ConditionGroup{ConditionGroup::Kind::all, {{any}, condition_of(outer)}}, {kMetrics, kNoFacts}));
  };
  CHECK(all_of_any('y', '?', 'y') == 'y');
  CHECK(all_of_any('n', '?', 'y') == '?');
  CHECK(all_of_any('n', '?', 'n') == 'n');
  CHECK(all_of_any('n', 'n', '?') == 'n');
}

TEST_CASE("comparisons include or exclude the threshold as they say") {
  const auto compare = [](Comparison comparison, double threshold) {
    return letter(evaluate(Condition{MetricCondition{"a.yes", "", comparison, threshold}}, {kMetrics, kNoFacts}));
  };
  CHECK(compare(Comparison::above, 1) == 'n');
  CHECK(compare(Comparison::at_least, 1) == 'y');
  CHECK(compare(Comparison::below, 1) == 'n');
  CHECK(compare(Comparison::at_most, 1) == 'y');
}

TEST_CASE("a metric is looked up in the scope judged, then in all; in a named scope alone") {
  const MetricSet metrics =
      metrics_of({{"a.both", 1, "all"}, {"a.both", 2, "rank:1"}, {"a.own", 3, "rank:1"}, {"a.global", 4}});
  const Situation rank{metrics, kNoFacts, "rank:1"};
  CHECK(measured(rank, "a.both") == 2);
  CHECK(measured(rank, "a.both", "all") == 1);
  CHECK(measured(rank, "a.global") == 4);
  CHECK_FALSE(measured(rank, "a.global", "rank:1"));
  CHECK_FALSE(measured({metrics, kNoFacts, "rank:0"}, "a.own"));
}

TEST_CASE("NaN is not measured, infinity is") {
  const MetricSet metrics =
      metrics_of({{"a.nan", std::nan("")}, {"a.infinite", std::numeric_limits<double>::infinity()}});
  CHECK_FALSE(measured({metrics, kNoFacts}, "a.nan"));
  const Condition above{MetricCondition{"a.infinite", "", Comparison::above, 3}};
  CHECK(evaluate(above, {metrics, kNoFacts}) == Truth::yes);
}

TEST_CASE("tests of facts") {
  const FactCondition is_gloo{"backend", FactTest::one_of, {"gloo"}};
  CHECK(judge_fact(is_gloo, {{"backend", "gloo"}}) == Truth::yes);
  CHECK(judge_fact(is_gloo, {{"backend", "nccl"}}) == Truth::no);
  CHECK(judge_fact(is_gloo, {}) == Truth::unknown);
  CHECK(judge_fact(is_gloo, {{"backend", ""}}) == Truth::unknown);
  const FactCondition either{"backend", FactTest::one_of, {"gloo", "nccl"}};
  CHECK(judge_fact(either, {{"backend", "nccl"}}) == Truth::yes);
  CHECK(judge_fact({"backend", FactTest::present, {}}, {}) == Truth::no);
  CHECK(judge_fact({"backend", FactTest::present, {}}, {{"backend", "mpi"}}) == Truth::yes);
  CHECK(judge_fact({"backend", FactTest::absent, {}}, {}) == Truth::yes);
}

TEST_CASE("ranks that disagree on a fact are known only where the answer is the same for all") {
  const Facts mixed{{"backend", "mixed: gloo, nccl"}};
  CHECK(judge_fact({"backend", FactTest::one_of, {"gloo"}}, mixed) == Truth::unknown);
  CHECK(judge_fact({"backend", FactTest::one_of, {"gloo", "nccl"}}, mixed) == Truth::yes);
  CHECK(judge_fact({"backend", FactTest::one_of, {"mpi"}}, mixed) == Truth::no);
}

TEST_CASE("versions are compared by their numbers") {
  const auto order = [](const char* left, const char* right) { return compare_versions(left, right).value_or(99); };
  CHECK(order("2.10", "2.9") == 1);
  CHECK(order("2.1", "2.1.0") == 0);
  CHECK(order("1.13.0a0+git7c98e70", "1.13") == -1);
  CHECK(order("2.0rc1", "2.0rc2") == 0);
  CHECK(order("2.18.3+cuda12.1", "2.18.3") == 0);
  CHECK(order("v5.10", "5.9.1") == 1);
  CHECK(order("none", "2.0") == 99);
  CHECK(order("2..1", "2.0") == 99);
  CHECK(judge_fact({"torch", FactTest::at_least, {"2.0"}}, {{"torch", "2.1.2"}}) == Truth::yes);
  CHECK(judge_fact({"torch", FactTest::below, {"2.0"}}, {{"torch", "1.13.1"}}) == Truth::yes);
  CHECK(judge_fact({"cuda", FactTest::at_least, {"11.0"}}, {{"cuda", "none"}}) == Truth::unknown);
}

TEST_CASE("what keeps a group unknown is named, what does not matter is not") {
  const ConditionGroup any{
      ConditionGroup::Kind::any,
      {{MetricCondition{"b.first", "", Comparison::above, 1}}, {FactCondition{"backend", FactTest::one_of, {"gloo"}}}}};
  const ConditionGroup settled{ConditionGroup::Kind::any, {condition_of('y'), condition_of('?')}};
  const ConditionGroup group{ConditionGroup::Kind::all, {condition_of('y'), {settled}, {any}}};
  CHECK(missing_names(group, {kMetrics, kNoFacts}) == Lines{"b.first", "fact backend"});
  CHECK(missing_names(ConditionGroup{ConditionGroup::Kind::all, {condition_of('?'), condition_of('n')}},
                      {kMetrics, kNoFacts})
            .empty());
}

TEST_CASE("conditions in words") {
  CHECK(in_words(MetricCondition{"comm.message_bytes", "", Comparison::below, 65536}) ==
        "comm.message_bytes below 64 KiB");
  CHECK(in_words(MetricCondition{"a.b_percent", "all", Comparison::at_least, 5}) == "a.b_percent of all at least 5 %");
  const ConditionGroup any{ConditionGroup::Kind::any,
                           {{FactCondition{"backend", FactTest::one_of, {"gloo", "mpi"}}},
                            {FactCondition{"torch", FactTest::at_least, {"2.0"}}}}};
  CHECK(in_words(Condition{any}) == "any of: backend is gloo or mpi; torch is at least 2.0");
  const ConditionGroup nested{ConditionGroup::Kind::any_known, {{any}, condition_of('y')}};
  CHECK(in_words(Condition{nested})
            .starts_with("any that is known of: (any of: backend is gloo or mpi; torch is at least 2.0); "));
}

}  // namespace gradsync
