#include "src/report/markdown.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/base/text.h"
#include "src/base/units.h"
#include "src/report/markdown/text.h"
#include "src/report/parts/folding.h"
#include "src/report/parts/outcomes.h"
#include "src/report/parts/words.h"

namespace gradsync {
namespace {

using markdown::code;
using markdown::plain;

// A block that is closed until somebody opens it. The blank line makes what follows Markdown again.
std::string folded(const std::string& summary, const std::string& content) {
  return "<details><summary>" + summary + "</summary>\n\n" + content + "\n</details>\n\n";
}

std::string header(const Report& report) {
  const RunInfo& run = report.run;
  std::vector<std::string> words;
  if (!run.command_line.empty()) words.push_back(code(shorten(join(run.command_line, " "), 120, "…")));
  if (run.hosts.size() > 1) words.push_back(plural(static_cast<std::int64_t>(run.hosts.size()), "host"));
  if (run.ranks > 0) words.push_back(plural(run.ranks, "rank"));
  if (run.steps > 0) words.push_back(plural(run.steps, "step"));
  if (!run.backend.empty()) words.push_back(plain(run.backend));
  words.push_back("gradsync-doctor " + plain(report.tool.version));
  const std::string verdict = report.verdict.text.empty() ? "No verdict." : "**" + plain(report.verdict.text) + "**";
  return "### Gradient synchronisation\n\n" + verdict + "\n\n" + join(words, " · ") + "\n\n";
}

// Where the median step of the job goes, class by class.
std::string step_table(const Report& report) {
  const auto median = std::find_if(report.attribution.begin(), report.attribution.end(),
                                   [](const Attribution& one) { return one.scope == "all" && one.step == "median"; });
  if (median == report.attribution.end()) return "";
  double whole = 0;
  for (const auto& [name, ms] : median->parts_ms)
    if (std::isfinite(ms)) whole += ms;
  if (whole <= 0) return "";
  std::string table = median->shares_only ? "| part of the median step | share |\n|---|--:|\n"
                                          : "| part of the median step | time | share |\n|---|--:|--:|\n";
  std::vector<std::pair<std::string, double>> parts(median->parts_ms.begin(), median->parts_ms.end());
  std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  for (const auto& [name, ms] : parts) {
    if (!std::isfinite(ms) || ms == 0) continue;
    const bool inflated = std::find(median->inflated.begin(), median->inflated.end(), name) != median->inflated.end();
    table += "| " + code(name) + (inflated ? " (inflated by observation)" : "") + " | ";
    if (!median->shares_only) table += format_ms(ms) + " | ";
    table += format_percent(100 * ms / whole) + " |\n";
  }
  return table + "\n";
}

std::string result_of(const std::vector<Outcome>& outcomes) {
  std::int64_t fired = 0, unjudged = 0, clean = 0;
  for (const Outcome& outcome : outcomes) {
    fired += static_cast<std::int64_t>(outcome.fired.size());
    unjudged += outcome.unjudged.empty() ? 0 : 1;
    clean += outcome.fired.empty() && outcome.unjudged.empty() ? 1 : 0;
  }
  std::vector<std::string> words;
  if (fired > 0) words.push_back("✖ " + plural(fired, "finding"));
  if (unjudged > 0) words.push_back("? could not judge " + plural(unjudged, "rule"));
  if (clean > 0) words.push_back("✓ " + plural(clean, "rule") + " clean");
  return words.empty() ? "? could not judge: nothing measured it" : join(words, " · ");
}

std::string diagnostic_steps(const std::vector<Outcome>& outcomes) {
  if (outcomes.empty()) return "";
  std::string table = "| diagnostic step | result |\n|---|---|\n";
  for (const int step : {1, 2, 3, 4, 0}) {
    const std::vector<Outcome> own = in_step(outcomes, step);
    if (step == 0 && own.empty()) continue;
    const std::string number = step == 0 ? "" : std::to_string(step) + " ";
    table += fmt::format("| {}{} | {} |\n", number, diagnostic_step_name(step), result_of(own));
  }
  return table + "\n";
}

std::string evidence(const Report& report, const Finding& finding) {
  std::vector<std::string> pieces;
  for (const std::string& name : finding.evidence) {
    const auto [metric, value] = find_metric(report, name, finding.scope);
    if (metric == nullptr) continue;
    const std::string spread = spread_text(*metric);
    pieces.push_back(code(name) + " " + format_value(value, metric->unit()) + (spread.empty() ? "" : " " + spread));
  }
  return join(pieces, " · ");
}

std::string finding_text(const Report& report, const Folding& folding, const Finding& finding, std::size_t number) {
  std::string text = fmt::format("#### {}. ✖ {} {}{}\n\n", number, code(finding.rule), plain(finding.title),
                                 finding.scope == "all" ? "" : " (" + plain(scope_text(finding.scope)) + ")");
  if (!finding.says.empty()) text += plain(finding.says) + "\n\n";
  const auto item = [&](const char* label, const std::string& what) {
    if (!what.empty()) text += fmt::format("- **{}** {}\n", label, what);
  };
  item("evidence", evidence(report, finding));
  if (!finding.where.empty()) item("where", code(finding.where));
  for (const std::string& advice : finding.advice) item("try", plain(advice));
  const std::string saves = finding.saves ? saving_text(*finding.saves) : "";
  item("saves", saves.empty() ? "not predicted" : saves);
  for (const Finding* symptom : folding.below(&finding))
    item("also seen", code(symptom->rule) + " " + plain(symptom->says.empty() ? symptom->title : symptom->says));
  return text + "\n";
}

std::string findings(const Report& report, const std::vector<Outcome>& outcomes) {
  const Folding folding(report);
  std::string text;
  std::size_t number = 0;
  for (const Finding* finding : folding.numbered()) text += finding_text(report, folding, *finding, ++number);
  if (number > 0) return text;
  const auto judged =
      std::count_if(outcomes.begin(), outcomes.end(), [](const Outcome& outcome) { return outcome.unjudged.empty(); });
  return judged == 0 ? "Nothing could be judged.\n\n"
                     : "No findings in " + plural(judged, "rule") + " that could be judged.\n\n";
}

std::string unjudged(const std::vector<Outcome>& outcomes) {
  std::string list;
  for (const Unjudged& group : unjudged_of(outcomes)) {
    std::vector<std::string> rules;
    for (const std::string& rule : group.rules) rules.push_back(code(rule));
    list += "- " + join(rules, ", ") + ": " + plain(group.reason) +
            (group.hint.empty() ? "" : "; **would help** " + plain(group.hint)) + "\n";
  }
  const auto count = std::count_if(outcomes.begin(), outcomes.end(), [](const auto& o) { return !o.unjudged.empty(); });
  return list.empty() ? "" : folded("Could not judge " + plural(count, "rule"), list);
}

std::string coverage(const Report& report) {
  std::string list;
  std::int64_t troubled = 0;
  for (const Coverage& entry : report.coverage) {
    const bool whole = entry.state == CoverageState::collected && entry.lost == 0;
    troubled += whole ? 0 : 1;
    list += fmt::format("- {} **{}** {}", whole ? "✓" : "?", plain(entry.source), to_string(entry.state));
    if (!entry.reason.empty()) list += ": " + plain(entry.reason);
    if (entry.lost > 0) list += "; " + plural(entry.lost, "event") + " lost";
    list += (entry.hint.empty() ? "" : "; **would help** " + plain(entry.hint)) + "\n";
  }
  if (list.empty()) return "";
  const auto sources = static_cast<std::int64_t>(report.coverage.size());
  return folded(fmt::format("Coverage: {}, {} of them not whole", plural(sources, "source"), troubled), list);
}

std::string clean(const std::vector<Outcome>& outcomes) {
  std::string list;
  std::int64_t count = 0;
  for (const Outcome& outcome : outcomes) {
    if (outcome.clean.empty()) continue;
    ++count;
    const std::string seen = seen_text(outcome.clean);
    list += "- ✓ " + code(outcome.rule) + (seen.empty() ? "" : ": would have seen " + seen) + "\n";
  }
  return list.empty() ? "" : folded("Found clean: " + plural(count, "rule"), list);
}

}  // namespace

std::string report_to_markdown(const Report& report) {
  const std::vector<Outcome> outcomes = outcomes_of(report);
  return header(report) + step_table(report) + diagnostic_steps(outcomes) + findings(report, outcomes) +
         unjudged(outcomes) + coverage(report) + clean(outcomes);
}

}  // namespace gradsync
