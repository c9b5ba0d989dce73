#include "src/diagnosis/diagnose.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "src/base/text.h"

namespace gradsync {
namespace {

std::string family_of(const std::string& metric) { return metric.substr(0, metric.find('.')); }

// Devices are of many kinds: a rule about interrupts has nothing to say of TCP, and one about GPUs nothing of a network.
// So one is judged by the rules that ask for any of what is known of it ("nic", "irq", "gpu").
using Families = std::map<std::string, std::set<std::string>>;  // by device
Families families_of(const MetricSet& metrics) {
  Families families;
  for (const Metric& metric : metrics.all())
    if (metric.scope.starts_with("device:")) families[metric.scope].insert(family_of(metric.name));
  return families;
}

bool concerns(const Rule& rule, const std::set<std::string>& families) {
  const auto conditions = metric_conditions(rule.conditions);
  return std::any_of(conditions.begin(), conditions.end(),
                     [&](const auto* condition) { return families.contains(family_of(condition->metric)); });
}

std::vector<std::string> scopes_of(const Rule& rule, const MetricSet& metrics, const Families& devices) {
  if (rule.for_each == "all") return {"all"};
  auto scopes = metrics.scopes(rule.for_each);
  if (rule.for_each == "device")
    std::erase_if(scopes, [&](const std::string& one) { return !concerns(rule, devices.at(one)); });
  // Nothing to tell apart: judged once, on what is known about all of them.
  return scopes.empty() ? std::vector<std::string>{"all"} : scopes;
}

// The smallest effect that would have shown in every one of them; unknown when it is for one.
void widest_resolution(const std::vector<Finding>& findings, Finding& one) {
  one.would_have_seen = findings.front().would_have_seen;
  for (const Finding& finding : findings) {
    if (!finding.would_have_seen || !one.would_have_seen)
      one.would_have_seen.reset();
    else
      one.would_have_seen = std::max(*one.would_have_seen, *finding.would_have_seen);
  }
}

// What is not a finding is said once when it is the same everywhere: a thousand clean ranks are one line.
void collapse(const Rule& rule, const MetricSet& metrics, const Facts& facts, std::vector<Finding>& findings) {
  const auto same = [&](const Finding& finding) { return finding.state == findings.front().state; };
  if (findings.size() < 2 || findings.front().state == FindingState::fired) return;
  if (!std::all_of(findings.begin(), findings.end(), same)) return;
  Finding one = findings.front();
  one.scope = "all";
  one.title = judge(rule, {metrics, facts, "all"}).title;
  widest_resolution(findings, one);
  std::vector<std::string> said;
  for (const Finding& finding : findings)
    if (std::find(said.begin(), said.end(), finding.says) == said.end()) said.push_back(finding.says);
  one.says = join(said, "; ");
  findings = {std::move(one)};
}

class Order {
 public:
  explicit Order(const RuleSet& rules) : rules_(rules) {}

  bool operator()(const Finding& a, const Finding& b) const { return key(a) < key(b); }

 private:
  // Findings of one rule keep the natural order of their scopes: the sort is stable.
  std::tuple<int, double, int, int, std::string> key(const Finding& finding) const {
    const Rule& rule = *rules_.find(finding.rule);
    const double saved = finding.saves ? finding.saves->p50 : 0;
    return {-static_cast<int>(finding.severity), -saved, -rule.priority, rule.step, finding.rule};
  }

  const RuleSet& rules_;
};

std::string kind_of(const std::string& scope) { return scope.substr(0, scope.find(':')); }

// A late rank explains what is wrong with the whole run, and with itself, but not with another rank.
bool about_the_same(const Finding& a, const Finding& b) {
  return a.scope == b.scope || kind_of(a.scope) != kind_of(b.scope);
}

// Of the same scope it must be large enough for that: a little of what is lost explains no more than a little.
bool large_enough(const Finding& cause, const Finding& symptom) {
  constexpr double kLeastPart = 1.0 / 3;
  const bool comparable = cause.scope == symptom.scope && cause.saves && symptom.saves;
  return !comparable || cause.saves->p50 >= kLeastPart * symptom.saves->p50;
}

// Index of the finding that `index` is folded under, or nothing. `fired` is in printed order; rules explain each other
// in no circle.
std::optional<std::size_t> folded_under(const RuleSet& rules, const std::vector<Finding>& fired, std::size_t index) {
  const Finding& symptom = fired[index];
  if (symptom.severity == Severity::error) return std::nullopt;
  std::optional<std::size_t> root;
  for (std::size_t i = 0; i < fired.size(); ++i) {
    const auto& explains = rules.find(fired[i].rule)->explains;
    if (std::find(explains.begin(), explains.end(), symptom.rule) == explains.end()) continue;
    if (!about_the_same(fired[i], symptom) || !large_enough(fired[i], symptom)) continue;
    const auto above = folded_under(rules, fired, i);
    if (!above) return i;
    if (!root) root = above;
  }
  return root;
}

void fold(const RuleSet& rules, std::vector<Finding>& fired) {
  std::vector<std::optional<std::size_t>> roots;
  for (std::size_t i = 0; i < fired.size(); ++i) roots.push_back(folded_under(rules, fired, i));
  for (std::size_t i = 0; i < fired.size(); ++i) {
    if (!roots[i]) continue;
    fired[i].folded_under = fired[*roots[i]].rule;
    auto& listed = fired[*roots[i]].explains;
    if (std::find(listed.begin(), listed.end(), fired[i].rule) == listed.end()) listed.push_back(fired[i].rule);
  }
  std::stable_partition(fired.begin(), fired.end(),
                        [](const Finding& finding) { return finding.folded_under.empty(); });
}

bool has(const std::vector<std::string>& ids, const std::string& id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

// Advice that waits for another finding's says so first.
void order_advice(const RuleSet& rules, std::vector<Finding>& fired) {
  for (Finding& later : fired)
    for (const Finding& first : fired) {
      const Rule& rule = *rules.find(first.rule);
      if (!has(rule.before, later.rule) || !about_the_same(first, later)) continue;
      later.advice.insert(later.advice.begin(),
                          "Only after what " + first.rule + " advises, and if it is still found then");
      break;
    }
}

}  // namespace

std::vector<std::pair<std::string, std::string>> contradictions(const RuleSet& rules,
                                                                const std::vector<Finding>& findings) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const Finding& a : findings)
    for (const Finding& b : findings) {
      if (a.state != FindingState::fired || b.state != FindingState::fired || a.rule == b.rule) continue;
      const Rule &first = *rules.find(a.rule), &second = *rules.find(b.rule);
      if (!has(first.excludes, b.rule) || !about_the_same(a, b)) continue;
      const bool folded = a.folded_under == b.rule || b.folded_under == a.rule;
      if (!folded && !has(first.before, b.rule) && !has(second.before, a.rule)) pairs.emplace_back(a.rule, b.rule);
    }
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  return pairs;
}

std::vector<Finding> diagnose(const RuleSet& rules, const MetricSet& metrics, const Facts& facts) {
  const Families devices = families_of(metrics);
  std::vector<Finding> fired, unknown, clean;
  for (const Rule& rule : rules.rules) {
    std::vector<Finding> findings;
    for (const std::string& scope : scopes_of(rule, metrics, devices))
      findings.push_back(judge(rule, {metrics, facts, scope}));
    collapse(rule, metrics, facts, findings);
    for (Finding& finding : findings) {
      auto& list = finding.state == FindingState::fired             ? fired
                   : finding.state == FindingState::could_not_judge ? unknown
                                                                    : clean;
      list.push_back(std::move(finding));
    }
  }
  std::stable_sort(fired.begin(), fired.end(), Order(rules));
  order_advice(rules, fired);
  fold(rules, fired);
  fired.insert(fired.end(), unknown.begin(), unknown.end());
  fired.insert(fired.end(), clean.begin(), clean.end());
  return fired;
}

}  // namespace gradsync
