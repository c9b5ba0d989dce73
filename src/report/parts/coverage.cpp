// What limits the report: sources that could not be read, rules that could not be judged; and the rules found clean.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "src/base/units.h"
#include "src/report/parts/parts.h"
#include "src/report/parts/words.h"

namespace gradsync {
namespace {

bool trouble(const Coverage& entry) { return entry.state != CoverageState::collected || entry.lost > 0; }

// Sources with the same trouble share a line.
struct Shared {
  const Coverage* entry;
  std::vector<std::string> sources;
};

std::vector<Shared> shared_of(const Report& report, Verbosity verbosity) {
  std::vector<Shared> groups;
  for (const Coverage& entry : report.coverage) {
    if (!trouble(entry) && verbosity != Verbosity::verbose) continue;
    const auto same = std::find_if(groups.begin(), groups.end(), [&](const Shared& group) {
      return group.entry->state == entry.state && group.entry->reason == entry.reason &&
             group.entry->hint == entry.hint && group.entry->lost == entry.lost;
    });
    const std::string name = entry.tier.empty() ? entry.source : entry.source + " [" + entry.tier + "]";
    if (same == groups.end())
      groups.push_back({&entry, {name}});
    else
      same->sources.push_back(name);
  }
  return groups;
}

}  // namespace

void draw_coverage(const Report& report, Canvas& canvas) {
  const std::vector<Shared> groups = shared_of(report, canvas.options().verbosity);
  if (groups.empty()) return;
  canvas.heading("COVERAGE", "");
  for (const Shared& group : groups) {
    const Coverage& entry = *group.entry;
    std::string text = to_string(entry.state);
    if (!entry.reason.empty()) text += ": " + entry.reason;
    if (entry.lost > 0) {
      text += fmt::format("; {} lost", plural(entry.lost, "event"));
      if (group.sources.size() > 1) text += " in each";
    }
    canvas.start(2, 4);
    canvas.piece(trouble(entry) ? "?" : "✓", trouble(entry) ? Paint::warning : Paint::good);
    canvas.piece(listed(group.sources), Paint::strong);
    canvas.prose(text + hint_text(entry.hint), Paint::plain, 2);
  }
}

void draw_unjudged(const std::vector<Outcome>& outcomes, Canvas& canvas) {
  std::vector<Outcome> left;
  for (const Outcome& outcome : outcomes)
    if (!said_by_step_line(in_step(outcomes, outcome.step))) left.push_back(outcome);
  // What would help is enough for most readers; which metrics were missing is for the others.
  const bool verbose = canvas.options().verbosity == Verbosity::verbose;
  const std::vector<Unjudged> groups = unjudged_of(left, verbose ? GroupBy::reason : GroupBy::hint);
  if (groups.empty()) return;
  canvas.heading("COULD NOT JUDGE", "");
  for (const Unjudged& group : groups) {
    const bool only_hint = !verbose && only_lacks(group.reason, group.hint);
    canvas.start(2, 4);
    canvas.piece("?", Paint::warning);
    canvas.piece(listed(group.rules) + ":", Paint::strong);
    canvas.prose(only_hint ? group.hint : group.reason + hint_text(group.hint));
  }
}

void draw_clean(const std::vector<Outcome>& outcomes, Canvas& canvas) {
  std::vector<std::string> rules;
  bool any_seen = false;
  for (const Outcome& outcome : outcomes) {
    if (outcome.clean.empty()) continue;
    std::string text = outcome.rule;
    if (!outcome.fired.empty() || !outcome.unjudged.empty()) {
      std::vector<std::string> scopes;
      for (const Finding* finding : outcome.clean) scopes.push_back(scope_text(finding->scope));
      text += " (" + listed(scopes) + ")";
    }
    if (const std::string seen = seen_text(outcome.clean); !seen.empty()) {
      text += " " + seen;
      any_seen = true;
    }
    rules.push_back(text);
  }
  if (rules.empty()) return;
  canvas.heading("CLEAN", any_seen ? "with the smallest effect that would have been seen" : "");
  canvas.start(2, 2);
  for (std::size_t index = 0; index < rules.size(); ++index)
    canvas.piece(rules[index] + (index + 1 < rules.size() ? " ·" : ""));
}

}  // namespace gradsync
