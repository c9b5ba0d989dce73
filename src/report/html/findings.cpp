// The findings, worst first, each with an identifier of its own to link to: the rule, and the scope where it is not all.
#include <fmt/format.h>

#include "src/report/html/html_canvas.h"
#include "src/report/html/parts.h"
#include "src/report/parts/folding.h"
#include "src/report/parts/parts.h"
#include "src/report/parts/words.h"

namespace gradsync {
namespace {

std::string id_of(const Finding& finding, Markup& page) {
  return page.id(finding.scope == "all" ? finding.rule : finding.rule + "-" + finding.scope);
}

void write_symptoms(const std::vector<const Finding*>& symptoms, Markup& page) {
  if (symptoms.empty()) return;
  page.element("p", {{"class", "faint"}}, "also seen:");
  page.open("ul");
  for (const Finding* symptom : symptoms) {
    page.open("li", {{"id", id_of(*symptom, page)}});
    HtmlCanvas canvas(page);
    canvas.inside();
    draw_symptom(*symptom, canvas);
    canvas.finish();
    page.close();
  }
  page.close();
}

void write_finding(const Report& report, const Finding& finding, std::size_t number,
                   const std::vector<const Finding*>& symptoms, Markup& page) {
  const std::string id = id_of(finding, page);
  page.open("article", {{"id", id}, {"aria-labelledby", id + ".title"}});
  page.open("h3", {{"id", id + ".title"}});
  page.element("a", {{"href", "#" + id}}, fmt::format("{}.", number));
  page.text(" ");
  HtmlCanvas title(page);
  title.inside();
  draw_finding_title(finding, title);
  title.finish();
  page.close();
  if (!finding.says.empty()) page.element("p", {}, finding.says);
  HtmlCanvas details(page);
  draw_finding_details(report, finding, details);
  details.finish();
  write_symptoms(symptoms, page);
  page.close();
}

}  // namespace

void write_findings(const Report& report, const std::vector<Outcome>& outcomes, Markup& page) {
  page.open("section", {{"aria-labelledby", "findings"}});
  page.element("h2", {{"id", page.id("findings")}}, "Findings");
  const Folding folding(report);
  std::size_t number = 0;
  for (const Finding* finding : folding.numbered())
    write_finding(report, *finding, ++number, folding.below(finding), page);
  if (number == 0) {
    HtmlCanvas canvas(page);
    draw_no_findings(outcomes, canvas);
    canvas.finish();
  }
  if (const std::string all = together_text(report); !all.empty()) page.element("p", {{"class", "strong"}}, all);
  page.close();
}

}  // namespace gradsync
