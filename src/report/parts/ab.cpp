// The measured counterfactual, below the step:
//   A/B       with the hook 154.2 ms, without 61.0 ms: +93.1 ms (91.0 … 95.2, n 24); blocks of one kind differ by …
//             predicted +88.0 ms (80.1 … 95.5, n 500), which is 3.3 % of the longer step below what was measured
//             of it compress +70.2 ms, comm transfer −2.5 ms, …
//             each rank sends 586 KiB a step, without the hook 9.35 MiB
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "src/base/text.h"
#include "src/base/units.h"
#include "src/model/series_table.h"
#include "src/report/parts/parts.h"
#include "src/report/parts/words.h"

namespace gradsync {
namespace {

std::string fact_of(const Report& report, const std::string& key) {
  const auto found = report.facts.find(key);
  return found == report.facts.end() ? std::string{} : escape_controls(found->second);
}

std::string signed_ms(double ms) { return (ms < 0 ? "−" : "+") + format_ms(std::abs(ms)); }

class AbPart {
 public:
  AbPart(const Report& report, Canvas& canvas) : report_(report), canvas_(canvas) {}

  void draw() {
    const std::string answer = fact_of(report_, "ab.answer");
    if (answer.empty()) return;
    begin("A/B");
    if (answer == "could not judge") {
      canvas_.prose("could not judge: " + fact_of(report_, "ab.reason"));
    } else {
      draw_step(answer);
      draw_prediction();
      draw_classes();
      draw_bytes();
    }
    draw_caveats(answer);
  }

 private:
  void begin(std::string_view title) {
    const int column = canvas_.narrow() ? 2 : 10;
    if (title.empty())
      canvas_.start(column, column);
    else
      canvas_.label(title, 0, 10, Paint::strong);
  }

  std::string value(std::string_view name) const {
    const MetricReference found = find_metric(report_, name, "all");
    return found.metric == nullptr ? "?" : no_break(format_value(found.value, found.metric->unit()));
  }

  void draw_step(const std::string& answer) {
    const MetricReference difference = find_metric(report_, "measured.ab_difference_ms", "all");
    if (difference.metric == nullptr) return;
    const std::string instead = fact_of(report_, "ab.with") == "fp16" ? "with fp16 instead " : "without ";
    canvas_.prose("with the hook " + value("ab.with_ms") + ", " + instead + value("ab.without_ms") + ":");
    canvas_.piece(signed_ms(difference.value), Paint::strong);
    canvas_.piece(spread_text(*difference.metric) + (answer == "no difference shown" ? "," : ";"));
    if (answer == "no difference shown") canvas_.prose("no difference shown;");
    canvas_.prose("blocks of one kind differ by up to " + value("ab.control_ms"));
  }

  // What the steps with the hook had promised, beside what came of it.
  void draw_prediction() {
    const bool half = fact_of(report_, "ab.with") == "fp16";
    const MetricReference predicted =
        find_metric(report_, half ? "predict.fp16_hook.saved_ms" : "predict.no_compression.saved_ms", "all");
    const MetricReference error = find_metric(report_, "ab.prediction_error_percent", "all");
    const std::string why = fact_of(report_, "ab.not_predicted");
    if (error.metric == nullptr && why.empty()) return;
    begin("");
    if (error.metric == nullptr || predicted.metric == nullptr) return canvas_.prose("was not predicted: " + why);
    canvas_.prose("predicted " + signed_ms(predicted.value));
    if (predicted.metric->p10 && predicted.metric->p90) canvas_.piece(spread_text(*predicted.metric) + ",");
    canvas_.prose("which is " + format_decimal(std::abs(error.value)) + " % of the longer step " +
                  (error.value < 0 ? "below" : "above") + " what was measured");
  }

  void draw_classes() {
    std::vector<std::string> parts;
    for (const SeriesRow& row : rows_of(report_, "ab")) {
      std::string part = row.text("part");
      const std::optional<double> ms = row.number("difference_ms");
      if (part == "step" || !ms || std::abs(*ms) < 0.05) continue;
      std::replace(part.begin(), part.end(), '_', ' ');
      parts.push_back(no_break(escape_controls(part) + " " + signed_ms(*ms)));
    }
    if (parts.empty()) return;
    begin("");
    canvas_.prose("of it " + join(parts, ", "));
  }

  void draw_bytes() {
    if (find_metric(report_, "ab.with_bytes", "all").metric == nullptr) return;
    begin("");
    canvas_.prose("each rank sends " + value("ab.with_bytes") + " a step, " +
                  (fact_of(report_, "ab.with") == "fp16" ? "in fp16 " : "without the hook ") +
                  value("ab.without_bytes"));
  }

  void draw_caveats(const std::string& answer) {
    const std::string passes = fact_of(report_, "ab.bypassed_passes");
    if (!passes.empty() && passes != "0") {
      begin("");
      canvas_.prose("this run's training is changed: " + passes + " backward passes went without the hook",
                    Paint::faint);
    }
    if (answer != "could not judge" && fact_of(report_, "ab.network") == "none, one host") {
      begin("");
      canvas_.prose("one host: its loopback is no network, so this says nothing about a cluster", Paint::warning);
    }
  }

  const Report& report_;
  Canvas& canvas_;
};

}  // namespace

void draw_ab(const Report& report, Canvas& canvas) { AbPart(report, canvas).draw(); }

}  // namespace gradsync
