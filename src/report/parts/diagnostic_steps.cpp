// The four diagnostic steps and what became of them:
//
//    1 compute and communication apart ......... ✖ 2 findings
//    3 interrupts and scheduling ............... ? could not judge: nothing measured it (hint: …)
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>

#include "src/report/parts/parts.h"
#include "src/report/parts/words.h"

namespace gradsync {
namespace {

constexpr int kStateColumn = 45;

struct DiagnosticStep {
  int number;                               // 0: rules that belong to none of the four
  std::array<std::string_view, 3> sources;  // of coverage; say why nothing was measured
};

constexpr std::array<DiagnosticStep, 4> kSteps{
    {{1, {}}, {2, {}}, {3, {"scheduler", "scheduler delays", "interrupts"}}, {4, {}}}};

const Coverage* missing_source(const Report& report, const DiagnosticStep& step) {
  for (const std::string_view source : step.sources)
    for (const Coverage& entry : report.coverage)
      if (!source.empty() && entry.source == source && entry.state != CoverageState::collected) return &entry;
  return nullptr;
}

void draw_name(std::string_view name, Canvas& canvas) {
  if (canvas.narrow()) {
    canvas.start(1, 3);
    canvas.piece(name);
    canvas.start(3, 5);
    return;
  }
  canvas.start(1, kStateColumn + 2);
  const std::size_t used = 1 + name.size() + 1;
  canvas.piece(fmt::format("{} {:.>{}}", name, "", kStateColumn - 1 - used));
  canvas.tab(kStateColumn);
}

void draw_unjudged_state(const std::vector<Outcome>& outcomes, Canvas& canvas) {
  const std::vector<Unjudged> groups = unjudged_of(outcomes);
  std::size_t unjudged = 0, clean = 0;
  for (const Outcome& outcome : outcomes) (outcome.unjudged.empty() ? clean : unjudged)++;
  canvas.piece("?", Paint::warning);
  std::string text = said_by_step_line(outcomes) ? fmt::format("could not judge {}: {}{}", listed(groups.front().rules),
                                                               groups.front().reason, hint_text(groups.front().hint))
                                                 : fmt::format("could not judge {} (below)",
                                                               plural(static_cast<std::int64_t>(unjudged), "rule"));
  if (clean > 0) text += fmt::format("; {} clean", plural(static_cast<std::int64_t>(clean), "rule"));
  canvas.prose(text);
}

void draw_unmeasured_state(const Report& report, const DiagnosticStep& step, Canvas& canvas) {
  const Coverage* missing = missing_source(report, step);
  const bool reason = missing != nullptr && !missing->reason.empty();
  canvas.piece("?", Paint::warning);
  canvas.prose("could not judge: " + (reason ? missing->reason : "nothing measured it") +
               hint_text(missing != nullptr ? missing->hint : "gradsync-doctor check"));
}

// By its number; 0: rules that belong to none of the four.
DiagnosticStep step_of(int number) {
  const auto* known = std::find_if(kSteps.begin(), kSteps.end(), [&](auto& step) { return step.number == number; });
  return known != kSteps.end() ? *known : DiagnosticStep{0, {}};
}

}  // namespace

std::vector<int> shown_steps(const std::vector<Outcome>& outcomes) {
  std::vector<int> numbers;
  for (const DiagnosticStep& step : kSteps) numbers.push_back(step.number);
  if (!in_step(outcomes, 0).empty()) numbers.push_back(0);
  return numbers;
}

std::string step_name(int number) {
  const std::string name(diagnostic_step_name(number));
  return number == 0 ? name : fmt::format("{} {}", number, name);
}

void draw_step_state(const Report& report, const std::vector<Outcome>& all, int number, Canvas& canvas) {
  const DiagnosticStep step = step_of(number);
  const std::vector<Outcome> outcomes = in_step(all, number);
  std::vector<const Finding*> fired, clean;
  std::size_t unjudged = 0;
  for (const Outcome& outcome : outcomes) {
    fired.insert(fired.end(), outcome.fired.begin(), outcome.fired.end());
    clean.insert(clean.end(), outcome.clean.begin(), outcome.clean.end());
    if (!outcome.unjudged.empty()) ++unjudged;
  }
  if (!fired.empty()) {
    canvas.piece("✖", Paint::bad);
    canvas.prose(plural(static_cast<std::int64_t>(fired.size()), "finding"));
    if (unjudged > 0)
      canvas.prose(fmt::format("· could not judge {}", plural(static_cast<std::int64_t>(unjudged), "rule")));
  } else if (unjudged > 0) {
    draw_unjudged_state(outcomes, canvas);
  } else if (!clean.empty()) {
    const std::string seen = seen_text(clean);
    canvas.piece("✓", Paint::good);
    canvas.prose("clean" + (seen.empty() ? "" : " (would have seen " + seen + ")"));
  } else {
    draw_unmeasured_state(report, step, canvas);
  }
}

void draw_diagnostic_steps(const Report& report, const std::vector<Outcome>& outcomes, Canvas& canvas) {
  for (const int number : shown_steps(outcomes)) {
    draw_name(step_name(number), canvas);
    draw_step_state(report, outcomes, number, canvas);
  }
}

}  // namespace gradsync
