// The page: its head with the policy, then the parts in the order of the terminal's report.
#include <algorithm>

#include "src/base/text.h"
#include "src/report/html.h"
#include "src/report/html/html_canvas.h"
#include "src/report/html/parts.h"
#include "src/report/html/style.h"
#include "src/report/parts/parts.h"
#include "src/report/parts/words.h"

namespace gradsync {
namespace {

void write_head(const Report& report, Markup& page) {
  page.open("head");
  page.empty("meta", {{"charset", "utf-8"}});
  page.empty("meta", {{"http-equiv", "Content-Security-Policy"},
                      {"content", "default-src 'none'; style-src 'sha256-" + std::string(html_style_hash()) +
                                      "'; script-src 'sha256-" + std::string(html_script_hash()) +
                                      "'; base-uri 'none'; form-action 'none'"}});
  page.empty("meta", {{"name", "viewport"}, {"content", "width=device-width, initial-scale=1"}});
  page.empty("meta", {{"name", "referrer"}, {"content", "no-referrer"}});
  page.element("title", {}, report.tool.name + ": " + command_text(report));
  page.constant("style", html_style());
  page.close();
}

void write_header(const Report& report, Markup& page) {
  page.open("header");
  page.element("p", {{"class", "faint"}}, join_words(report.tool.name, report.tool.version));
  const std::string command = command_text(report);
  page.element("h1", {}, command.empty() ? "report" : command);
  std::vector<std::string> words;
  for (const std::string& text : {run_text(report.run), observer_text(report)})
    if (!text.empty()) words.push_back(text);
  if (!words.empty()) page.element("p", {}, join(words, " · "));
  page.close();
}

void write_contents(const std::vector<std::pair<std::string, std::string>>& parts, Markup& page) {
  page.open("nav", {{"aria-label", "Parts of this report"}});
  page.open("ul");
  for (const auto& [id, name] : parts) {
    page.open("li");
    page.element("a", {{"href", "#" + id}}, name);
    page.close();
  }
  page.close();
  page.close();
}

void write_verdict(const Report& report, Markup& page) {
  page.open("section", {{"aria-labelledby", "verdict"}});
  page.element("h2", {{"id", page.id("verdict")}}, "Verdict");
  page.open("div", {{"class", std::string("verdict ") + to_string(report.verdict.sign)}});
  for (const std::string& line : verdict_lines(report)) page.element("p", {}, line);
  page.close();
  page.close();
}

using DrawPart = void (*)(const Report&, Canvas&);

void write_drawn(const Report& report, DrawPart draw, Markup& page) {
  HtmlCanvas canvas(page, "h3");
  draw(report, canvas);
  canvas.finish();
}

bool about_a_job(const Report& report) { return !without_job(report) && !answers_alone(report); }

std::string subject_name(const Report& report) {
  if (report.command == "whatif") return "What would help";
  if (report.command == "compare") return "What changed";
  return about_a_job(report) ? "The step" : "What was measured";
}

// What was measured: a fabric, loads, interrupts, or the step of a job.
void write_subject(const Report& report, Markup& page) {
  page.open("section", {{"aria-labelledby", "measured"}});
  const bool job = about_a_job(report);
  page.element("h2", {{"id", page.id("measured")}}, subject_name(report));
  if (report.command == "whatif") write_whatif(report, page);
  write_fabric(report, page);
  write_drawn(report, draw_comparison, page);
  if (report.command == "bench") write_loads(report, page);
  if (job) {
    write_step_bars(report, page);
    for (const DrawPart draw : {draw_exchanges, draw_gpu_counters, draw_ab}) write_drawn(report, draw, page);
  } else if (!answers_alone(report)) {
    write_threads(report, page);
    write_irq_heat(report, page);
    for (const DrawPart draw : {draw_irq_plan, draw_measured}) write_drawn(report, draw, page);
  }
  page.close();
}

void write_diagnostic_steps(const Report& report, const std::vector<Outcome>& outcomes, Markup& page) {
  page.open("section", {{"aria-labelledby", "checks"}});
  page.element("h2", {{"id", page.id("checks")}}, "Diagnostic steps");
  page.open("dl");
  for (const int number : shown_steps(outcomes)) {
    page.element("dt", {}, step_name(number));
    page.open("dd");
    HtmlCanvas canvas(page);
    canvas.inside();
    draw_step_state(report, outcomes, number, canvas);
    canvas.finish();
    page.close();
  }
  page.close();
  page.close();
}

void write_pictures(const Report& report, Markup& page) {
  page.open("section", {{"aria-labelledby", "pictures"}});
  page.element("h2", {{"id", page.id("pictures")}}, "Pictures");
  write_steps(report, page);
  write_lanes(report, page);
  write_messages(report, page);
  write_threads(report, page);
  page.close();
}

bool has_pictures(const Report& report) {
  for (const char* name : {"steps", "lanes", "messages", "sched"})
    if (const auto series = report.series.find(name); series != report.series.end() && !series->second.rows.empty())
      return !answers_alone(report);
  return false;
}

// Coverage, and what was judged or could not be.
void write_limits(const Report& report, const std::vector<Outcome>& outcomes, Markup& page) {
  page.open("section", {{"id", page.id("limits")}, {"aria-label", "What limits this report"}});
  HtmlCanvas canvas(page);
  draw_coverage(report, canvas);
  canvas.finish();
  HtmlCanvas brief(page, "h2",
                   Verbosity::normal);  // what would help is enough; the JSON says which metrics are missing
  draw_unjudged(outcomes, brief);
  brief.finish();
  draw_clean(outcomes, canvas);
  canvas.finish();
  page.close();
}

bool has_limits(const Report& report, const std::vector<Outcome>& outcomes) {
  return !report.coverage.empty() || std::any_of(outcomes.begin(), outcomes.end(), [](const Outcome& outcome) {
    return !outcome.clean.empty() || !outcome.unjudged.empty();
  });
}

}  // namespace

std::string render_html(const Report& report) {
  const std::vector<Outcome> outcomes = shown_outcomes(report, Verbosity::normal);
  const bool steps = shows_steps(report, Verbosity::normal), findings = shows_findings(report, outcomes),
             pictures = has_pictures(report), limits = has_limits(report, outcomes);
  std::vector<std::pair<std::string, std::string>> parts{{"verdict", "Verdict"}, {"measured", subject_name(report)}};
  if (steps) parts.emplace_back("checks", "Diagnostic steps");
  if (findings) parts.emplace_back("findings", "Findings");
  if (pictures) parts.emplace_back("pictures", "Pictures");
  if (limits) parts.emplace_back("limits", "Coverage and checks");
  parts.emplace_back("facts", "Facts and versions");

  Markup page;
  page.open("html", {{"lang", "en"}});
  write_head(report, page);
  page.open("body");
  write_header(report, page);
  write_contents(parts, page);
  page.open("main");
  write_verdict(report, page);
  write_subject(report, page);
  if (steps) write_diagnostic_steps(report, outcomes, page);
  if (findings) write_findings(report, outcomes, page);
  if (pictures) write_pictures(report, page);
  if (limits) write_limits(report, outcomes, page);
  write_facts(report, page);
  page.close();
  page.constant("script", html_script());
  return "<!DOCTYPE html>\n" + page.take();
}

}  // namespace gradsync
