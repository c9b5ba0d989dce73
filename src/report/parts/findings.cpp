// The findings that fired, worst first as the report has them; those that another one explains stand below it.
//
//   1. ✖ compress-not-overlapped   Top-K starts after the last backward op
//        61.0 % of compression runs after backward.
//        evidence  compress.serial_ms 8.3 ms (7.9 … 8.9, n 48)
//        where     train.py:87 in topk_hook
//        try       Compress each bucket as soon as it is ready.
//        saves     −7.9 ms predicted (5.8 … 8.4)
//        also seen: exposed-communication   17.9 ms of communication have nothing beside them
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "src/base/units.h"
#include "src/report/parts/folding.h"
#include "src/report/parts/parts.h"
#include "src/report/parts/words.h"

namespace gradsync {
namespace {

constexpr int kIndent = 5, kTextColumn = 15;

Paint paint_of(Severity severity) {
  switch (severity) {
    case Severity::error:
      return Paint::bad;
    case Severity::warning:
      return Paint::warning;
    case Severity::info:
      return Paint::strong;
  }
  return Paint::strong;
}

// "error" and "info" are said; a warning is the usual case.
std::string tag(const Finding& finding) {
  std::string text;
  if (finding.severity != Severity::warning) text += to_string(finding.severity);
  if (finding.scope != "all") text += (text.empty() ? "" : ", ") + scope_text(finding.scope);
  return text.empty() ? text : "(" + text + ")";
}

void draw_label(std::string_view label, Canvas& canvas) { canvas.label(label, kIndent, kTextColumn, Paint::faint); }

void draw_evidence(const Report& report, const Finding& finding, Canvas& canvas) {
  std::vector<std::string> pieces;
  for (const std::string& name : finding.evidence) {
    const auto [metric, value] = find_metric(report, name, finding.scope);
    if (metric == nullptr) continue;
    std::string text =
        fmt::format("{} {} {}", name, no_break(format_value(value, metric->unit())), spread_text(*metric));
    if (metric->scope != finding.scope) text += " over all";
    if (canvas.options().verbosity == Verbosity::verbose && !metric->source.empty()) text += " from " + metric->source;
    pieces.push_back(text);
  }
  if (pieces.empty()) return;
  draw_label("evidence", canvas);
  for (std::size_t index = 0; index < pieces.size(); ++index)
    canvas.piece(pieces[index] + (index + 1 < pieces.size() ? " ·" : ""));
}

void draw_advice(const Finding& finding, Canvas& canvas) {
  const bool several = finding.advice.size() > 1;
  const int column = canvas.narrow() ? kIndent + 2 : kTextColumn;
  for (std::size_t index = 0; index < finding.advice.size(); ++index) {
    if (index == 0) draw_label("try", canvas);
    if (several) {
      if (index > 0) canvas.start(column, column + 2);
      canvas.piece("•");
    }
    canvas.prose(finding.advice[index]);
  }
}

void draw_saving(const Finding& finding, Canvas& canvas) {
  const std::string text = finding.saves ? saving_text(*finding.saves) : "";
  draw_label("saves", canvas);
  canvas.prose(text.empty() ? "not predicted" : text, text.empty() ? Paint::faint : Paint::strong);
}

}  // namespace

void draw_finding_title(const Finding& finding, Canvas& canvas) {
  canvas.piece("✖", paint_of(finding.severity));
  canvas.piece(finding.rule, paint_of(finding.severity));
  canvas.piece(tag(finding));
  canvas.prose(finding.title, Paint::strong, 3);
}

void draw_symptom(const Finding& finding, Canvas& canvas) {
  canvas.piece(finding.rule);
  if (finding.scope != "all") canvas.piece("(" + scope_text(finding.scope) + ")");
  canvas.prose(finding.says.empty() ? finding.title : finding.says, Paint::plain, 3);
}

void draw_finding_details(const Report& report, const Finding& finding, Canvas& canvas) {
  draw_evidence(report, finding, canvas);
  if (!finding.where.empty()) {
    draw_label("where", canvas);
    canvas.piece(finding.where);
  }
  if (canvas.options().verbosity == Verbosity::verbose && !finding.why.empty()) {
    draw_label("why", canvas);
    canvas.prose(finding.why);
  }
  draw_advice(finding, canvas);
  draw_saving(finding, canvas);
}

namespace {

void draw_body(const Report& report, const Finding& finding, Canvas& canvas) {
  canvas.start(kIndent, kIndent);
  canvas.prose(finding.says);
  draw_finding_details(report, finding, canvas);
}

void draw_folded(const Finding& finding, Canvas& canvas) {
  canvas.start(kIndent, kIndent + 2);
  canvas.piece("also seen:", Paint::faint);
  draw_symptom(finding, canvas);
}

void draw_heading(const Finding& finding, std::size_t number, Canvas& canvas) {
  canvas.start(0, kIndent);
  canvas.piece(fmt::format("{}.", number));
  draw_finding_title(finding, canvas);
}

std::int64_t unjudged_rules(const std::vector<Outcome>& outcomes) {
  return std::count_if(outcomes.begin(), outcomes.end(), [](const Outcome& o) { return !o.unjudged.empty(); });
}

}  // namespace

void draw_no_findings(const std::vector<Outcome>& outcomes, Canvas& canvas) {
  const std::int64_t unjudged = unjudged_rules(outcomes);
  const auto judged = static_cast<std::int64_t>(outcomes.size()) - unjudged;
  canvas.start(0, 2);
  if (judged == 0)
    canvas.prose("Nothing could be judged.", Paint::warning);
  else if (unjudged == 0)
    canvas.prose(fmt::format("No findings: {} judged, all clean.", plural(judged, "rule")), Paint::good);
  else
    canvas.prose(
        fmt::format("No findings in {} that could be judged; {} could not be.", plural(judged, "rule"), unjudged));
}

void draw_findings(const Report& report, const std::vector<Outcome>& outcomes, Canvas& canvas) {
  const Folding folding(report);
  const std::vector<const Finding*> numbered = folding.numbered();
  if (numbered.empty()) return draw_no_findings(outcomes, canvas);
  const bool quiet = canvas.options().verbosity == Verbosity::quiet;
  std::size_t number = 0;
  for (const Finding* finding : numbered) {
    if (number > 0 && !quiet) canvas.blank();
    draw_heading(*finding, ++number, canvas);
    if (quiet) {
      draw_saving(*finding, canvas);
      continue;
    }
    draw_body(report, *finding, canvas);
    for (const Finding* symptom : folding.below(finding)) draw_folded(*symptom, canvas);
  }
  if (const std::string all = together_text(report); !all.empty()) {
    canvas.start(0, kIndent);
    canvas.prose(all, Paint::strong);
  }
  if (!quiet || unjudged_rules(outcomes) == 0) return;
  canvas.start(0, 2);
  canvas.piece("?", Paint::warning);
  canvas.prose("could not judge " + plural(unjudged_rules(outcomes), "rule"));
}

}  // namespace gradsync
