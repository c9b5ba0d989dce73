#include "src/report/parts/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/base/text.h"
#include "src/base/units.h"
#include "src/report/parts/canvas.h"

namespace gradsync {
namespace {

constexpr std::size_t kListedItems = 8;

// Without the unit where it stands in the name or beside it already: "7.9" of "7.9 ms".
std::string bare_value(double value, std::string_view unit) {
  const std::string text = format_value(value, unit);
  const bool cut = unit == "ms" || unit == "us" || unit == "percent";
  return cut ? text.substr(0, text.rfind(' ')) : text;
}

std::optional<double> quantile_of(const Metric& metric, std::string_view which) {
  if (which == "p10") return metric.p10;
  if (which == "p50") return metric.p50;
  if (which == "p90") return metric.p90;
  return std::nullopt;
}

}  // namespace

std::string_view diagnostic_step_name(int step) {
  switch (step) {
    case 1:
      return "compute and communication apart";
    case 2:
      return "small-packet tax";
    case 3:
      return "interrupts and scheduling";
    case 4:
      return "gradient lifecycle";
    default:
      return "other checks";
  }
}

std::string no_break(std::string_view text) { return fmt::format("{}", fmt::join(split_words(text), kNoBreak)); }

std::string plural(std::int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", format_count(static_cast<double>(count)), noun, count == 1 ? "" : "s");
}

std::string scope_text(std::string_view scope) {
  std::string text(scope);
  const std::size_t colon = text.find(':');
  if (colon != std::string::npos) text[colon] = ' ';
  return text;
}

std::string listed(const std::vector<std::string>& items) {
  if (items.size() <= kListedItems) return join(items, ", ");
  const std::vector<std::string> first(items.begin(), items.begin() + kListedItems);
  return fmt::format("{} and {} more", join(first, ", "), items.size() - kListedItems);
}

MetricReference find_metric(const Report& report, std::string_view name, std::string_view scope) {
  const std::size_t at = name.find('@');
  const std::string_view bare = name.substr(0, at);
  for (const std::string_view wanted : {scope, std::string_view("all")}) {
    for (const Metric& metric : report.metrics) {
      if (metric.name != bare || metric.scope != wanted) continue;
      const std::optional<double> value =
          at == std::string_view::npos ? std::optional(metric.value) : quantile_of(metric, name.substr(at + 1));
      if (value && std::isfinite(*value)) return {&metric, *value};
    }
  }
  return {};
}

std::string spread_text(const Metric& metric) {
  const std::string count = "n " + format_count(static_cast<double>(metric.n));
  if (!metric.p10 || !metric.p90 || metric.n < 2) return no_break("(" + count + ")");
  const std::string unit = metric.unit();
  return no_break(fmt::format("({} … {}, {})", bare_value(*metric.p10, unit), bare_value(*metric.p90, unit), count));
}

std::string saving_text(const Saving& saving) {
  if (!std::isfinite(saving.p50)) return "";
  if (saving.kind == SavingKind::bound) return "at most " + format_value(saving.p50, saving.unit);
  std::string text = fmt::format("{}{} {}",
                                 saving.p50 == 0  ? ""
                                 : saving.p50 < 0 ? "+"
                                                  : "−",
                                 format_value(std::abs(saving.p50), saving.unit), to_string(saving.kind));
  if (std::isfinite(saving.p05) && std::isfinite(saving.p95))
    text += fmt::format(" ({} … {})", bare_value(saving.p05, saving.unit), bare_value(saving.p95, saving.unit));
  if (saving.probability) text += fmt::format(", probability {}", format_percent(*saving.probability * 100));
  return text;
}

std::string together_text(const Report& report) {
  const auto names = report.facts.find("whatif.together");
  const MetricReference saved = find_metric(report, "predict.together.saved_ms", "all");
  if (names == report.facts.end() || saved.metric == nullptr) return "";
  const Metric& metric = *saved.metric;
  const std::string text = saving_text({SavingKind::predicted, "ms", metric.p10.value_or(metric.value), metric.value,
                                        metric.p90.value_or(metric.value), std::nullopt});
  return text.empty() ? "" : escape_controls(names->second) + " together " + text;
}

std::string seen_text(const std::vector<const Finding*>& clean) {
  const Finding* coarsest = nullptr;
  for (const Finding* finding : clean) {
    if (!finding->would_have_seen || !std::isfinite(*finding->would_have_seen)) continue;
    const auto& unit = finding->would_have_seen_unit;
    const bool first = coarsest == nullptr || (unit == "ms" && coarsest->would_have_seen_unit != "ms");
    const bool coarser =
        !first && unit == coarsest->would_have_seen_unit && *finding->would_have_seen > *coarsest->would_have_seen;
    if (first || coarser) coarsest = finding;
  }
  if (coarsest == nullptr) return "";
  return "≥ " + format_value(*coarsest->would_have_seen, coarsest->would_have_seen_unit);
}

std::string hint_text(std::string_view hint) { return hint.empty() ? "" : fmt::format(" (hint: {})", hint); }

}  // namespace gradsync
