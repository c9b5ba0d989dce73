// Findings of two sets of runs: which appeared, which went, and which could only be judged on one side.
#include <algorithm>
#include <map>

#include "analyzers/compare.h"
#include "src/base/statistics.h"

namespace gradsync {
namespace {

struct Seen {
  std::size_t fired = 0, judged = 0;  // runs
  std::vector<double> ms;             // the largest of its scopes, of each run in which it fired
  const Finding* newest = nullptr;

  bool holds() const { return fired > 0 && 2 * fired >= judged; }
};

void add_run(const Report& report, std::map<std::string, Seen>& seen) {
  std::map<std::string, std::vector<const Finding*>> by_rule;
  for (const Finding& finding : report.findings) by_rule[finding.rule].push_back(&finding);
  for (const auto& [rule, scopes] : by_rule) {
    Seen& one = seen[rule];
    double most = -1;
    bool fired = false, judged = false;
    for (const Finding* finding : scopes) {
      judged |= finding->state != FindingState::could_not_judge;
      if (finding->state != FindingState::fired) continue;
      if (!fired) one.newest = finding;
      fired = true;
      if (finding->saves && finding->saves->unit == "ms") most = std::max(most, finding->saves->p50);
    }
    one.judged += judged ? 1 : 0;
    one.fired += fired ? 1 : 0;
    if (fired && most >= 0) one.ms.push_back(most);
  }
}

std::map<std::string, Seen> seen_in(const ComparedSet& set) {
  std::map<std::string, Seen> seen;
  for (const ComparedRun& run : set) add_run(run.report, seen);
  return seen;
}

std::optional<FindingChangeKind> kind_of(const Seen& before, const Seen& after) {
  if (after.holds()) {
    if (before.holds()) return FindingChangeKind::stayed;
    return before.judged > 0 ? FindingChangeKind::appeared : FindingChangeKind::judged_now;
  }
  if (!before.holds()) return std::nullopt;
  return after.judged > 0 ? FindingChangeKind::went : FindingChangeKind::not_judged_now;
}

}  // namespace

const char* to_string(FindingChangeKind kind) {
  switch (kind) {
    case FindingChangeKind::appeared:
      return "appeared";
    case FindingChangeKind::went:
      return "went";
    case FindingChangeKind::stayed:
      return "stayed";
    case FindingChangeKind::judged_now:
      return "could not be judged in A";
    case FindingChangeKind::not_judged_now:
      return "could not be judged in B";
  }
  return "stayed";
}

// A report of a version that keeps fired findings alone says nothing of the others: not judged there, and so it reads.
void compare_findings(const ComparedSet& before, const ComparedSet& after, SetComparison& comparison) {
  std::map<std::string, Seen> was = seen_in(before), is = seen_in(after);
  for (const auto& [rule, seen] : is) was.try_emplace(rule);
  for (const auto& [rule, seen] : was) {
    const Seen& now = is[rule];
    const std::optional<FindingChangeKind> kind = kind_of(seen, now);
    if (!kind) continue;
    const Finding* told = now.newest != nullptr ? now.newest : seen.newest;
    comparison.findings.push_back({*told, *kind, median(seen.ms), median(now.ms), seen.fired, now.fired});
  }
  const auto worse_first = [](const FindingChange& a, const FindingChange& b) {
    if (a.kind != b.kind) return a.kind < b.kind;
    if (a.finding.severity != b.finding.severity) return a.finding.severity > b.finding.severity;
    const auto ms = [](const FindingChange& one) {
      return std::max(one.before_ms.value_or(0), one.after_ms.value_or(0));
    };
    return ms(a) > ms(b);
  };
  std::stable_sort(comparison.findings.begin(), comparison.findings.end(), worse_first);
}

}  // namespace gradsync
