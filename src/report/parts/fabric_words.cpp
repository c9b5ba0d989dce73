// The fit of each segment and the answers about cliffs, in words.
#include <fmt/format.h>

#include <cmath>

#include "src/base/units.h"
#include "src/report/parts/fabric.h"
#include "src/report/parts/words.h"

namespace gradsync {
namespace {

std::string microseconds(double value) { return no_break(format_decimal(value) + " µs"); }

// " (36.1 … 40.9)", or nothing where it has no interval.
std::string interval(const SeriesRow& row, const std::string& low, const std::string& high) {
  const auto from = row.number(low), to = row.number(high);
  if (!from || !to) return "";
  return " " + no_break(fmt::format("({} … {})", format_decimal(*from), format_decimal(*to)));
}

std::string span_text(const SeriesRow& row) {
  const auto from = row.number("from_bytes"), to = row.number("to_bytes");
  if (!from || !to) return "all sizes";
  if (*from == *to) return no_break(format_bytes(*from));
  return no_break(format_bytes(*from) + " … " + format_bytes(*to));
}

std::string fit_text(const SeriesRow& row) {
  const auto alpha = row.number("alpha_us"), slope = row.number("us_per_mib");
  if (!alpha || !slope) return "not fitted";
  std::string text = "start-up α " + microseconds(*alpha) + interval(row, "alpha_p05", "alpha_p95") + ", then " +
                     microseconds(*slope) + interval(row, "us_per_mib_p05", "us_per_mib_p95") + " per MiB";
  if (const auto bandwidth = row.number("bandwidth_gbytes_per_s")) {
    text += fmt::format(" ({}", no_break(format_value(*bandwidth, "gbytes_per_s")));
    if (const auto half = row.number("half_size_bytes"))
      text += ", half of it at n½ = " + no_break(format_bytes(*half));
    text += ")";
  }
  std::string quality;
  if (const auto off = row.number("mape_percent")) quality = "MAPE " + format_percent(*off);
  if (const auto n = row.number("n")) quality += (quality.empty() ? "n " : ", n ") + format_count(*n);
  return quality.empty() ? text : text + "; " + no_break(quality);
}

std::string drop_text(const SeriesRow& row) {
  const auto drop = row.number("drop_percent");
  if (!drop) return "bandwidth drops";
  std::string text = "bandwidth drops by " + no_break(format_percent(*drop));
  return text + interval(row, "drop_p05", "drop_p95");
}

std::string evidence_text(const SeriesRow& row) {
  std::string text;
  if (const auto p = row.number("p_value")) text += fmt::format(", p {:.2g} (Holm)", *p);
  if (const auto n = row.number("n")) text += ", n " + format_count(*n);
  return text;
}

struct Answer {
  std::string text;
  Paint paint = Paint::plain;
};

std::string cause_text(const SeriesRow& row) {
  const std::string cause = row.text("cause");
  return cause.empty() ? "" : ". " + cause;
}

// The command that would decide, where the report names one for this operation.
std::string proof_text(const Report& report, const std::string& operation) {
  const auto command = report.facts.find("sweep.prove");
  if (command == report.facts.end() || command->second.find("--op " + operation + " ") == std::string::npos) return "";
  return ". To decide: " + command->second;
}

Answer answer_of(const SeriesRow& row, const std::string& proof) {
  const std::string answer = row.text("answer"), span = span_text(row);
  if (answer == "cliff") {
    const std::string severity = row.text("severity");
    return {fmt::format("{}cliff at {}: {}{}{}", severity.empty() ? "" : severity + " ", span, drop_text(row),
                        evidence_text(row), cause_text(row)),
            Paint::bad};
  }
  if (answer == "no cliff") {
    const auto seen = row.number("drop_percent");
    return {(seen ? "no cliff ≥ " + no_break(format_percent(*seen)) + " (seen with power ≥ 0.9)" : "no cliff") +
                evidence_text(row) + cause_text(row),
            Paint::good};
  }
  if (answer == "undecided")
    return {"undecided at " + span + ": the repeats so far neither prove a cliff nor exclude one" + evidence_text(row) +
                cause_text(row) + proof,
            Paint::warning};
  if (answer == "suspected")
    return {"suspected at " + span + ": " + drop_text(row) + evidence_text(row) + cause_text(row) + proof,
            Paint::warning};
  if (answer == "unstable")
    return {"unstable at " + span + ": the same call takes very different times, so no cliff is told from it" +
                evidence_text(row) + cause_text(row),
            Paint::warning};
  if (answer == "cache-capacity")
    return {"cache capacity at " + span + ": " + drop_text(row) + evidence_text(row) +
                (row.text("cause").empty() ? ". The buffers outgrow the cache there" : cause_text(row)),
            Paint::plain};
  return {answer + " at " + span + evidence_text(row) + cause_text(row), Paint::plain};
}

}  // namespace

void draw_fit(const Report& report, const SweepGroup& group, Canvas& canvas) {
  for (const SeriesRow& row : rows_about(report, "fabric_fit", group)) {
    canvas.label("fit", 1, 7, Paint::plain);
    canvas.prose(span_text(row) + ": " + fit_text(row));
  }
}

void draw_cliffs(const Report& report, const SweepGroup& group, Canvas& canvas) {
  for (const SeriesRow& row : rows_about(report, "fabric_cliffs", group)) {
    const Answer answer = answer_of(row, proof_text(report, group.operation));
    canvas.label("cliff", 1, 7, Paint::plain);
    canvas.prose(answer.text, answer.paint);
  }
}

}  // namespace gradsync
