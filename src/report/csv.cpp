#include "src/report/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <optional>

#include "src/base/text.h"

namespace gradsync {
namespace {

constexpr std::string_view kPrefix = "sweep.", kEndOfLine = "\r\n";

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string whole = "\"";
  for (const char c : text) whole += c == '"' ? std::string("\"\"") : std::string(1, c);
  return whole + "\"";
}

std::string cell_text(const Cell& cell) {
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) return std::to_string(*whole);
  if (const auto* real = std::get_if<double>(&cell)) return std::isfinite(*real) ? fmt::format("{}", *real) : "";
  return quoted(std::get<std::string>(cell));
}

std::vector<std::string> all_columns(const SeriesSet& all) {
  std::vector<std::string> columns;
  for (const auto& [name, series] : all)
    if (name.starts_with(kPrefix))
      for (const std::string& column : series.columns)
        if (std::find(columns.begin(), columns.end(), column) == columns.end()) columns.push_back(column);
  return columns;
}

std::string number_text(double number) { return cell_text(Cell(number)); }
std::string number_text(const std::optional<double>& number) { return number ? cell_text(Cell(*number)) : ""; }

// A line of fields that are quoted already.
std::string line_of(const std::vector<std::string>& fields) { return join(fields, ",") + std::string(kEndOfLine); }

std::string metrics_table(const Report& report) {
  std::string text = line_of({"name", "scope", "value", "unit", "n", "p10", "p50", "p90", "source", "resolution"});
  for (const Metric& metric : report.metrics)
    text += line_of({quoted(metric.name), quoted(metric.scope), number_text(metric.value), quoted(metric.unit()),
                     std::to_string(metric.n), number_text(metric.p10), number_text(metric.p50),
                     number_text(metric.p90), quoted(metric.source), number_text(metric.resolution)});
  return text;
}

std::string findings_table(const Report& report) {
  std::string text = line_of({"rule", "step", "scope", "severity", "state", "title", "says", "evidence", "where", "why",
                              "try", "saves_kind", "saves_unit", "saves_p05", "saves_p50", "saves_p95",
                              "saves_probability", "hint", "folded_under"});
  for (const Finding& finding : report.findings) {
    const Saving saves = finding.saves.value_or(Saving{});
    const bool known = finding.saves.has_value();
    const auto saved = [&](const std::string& field) { return known ? field : std::string(); };
    text += line_of({quoted(finding.rule), std::to_string(finding.step), quoted(finding.scope),
                     to_string(finding.severity), to_string(finding.state), quoted(finding.title), quoted(finding.says),
                     quoted(join(finding.evidence, " ")), quoted(finding.where), quoted(finding.why),
                     quoted(join(finding.advice, "\n")), saved(to_string(saves.kind)), saved(quoted(saves.unit)),
                     saved(number_text(saves.p05)), saved(number_text(saves.p50)), saved(number_text(saves.p95)),
                     number_text(saves.probability), quoted(finding.hint), quoted(finding.folded_under)});
  }
  return text;
}

std::string attribution_table(const Report& report) {
  std::string text = line_of({"scope", "step", "class", "ms", "inflated", "shares_only"});
  for (const Attribution& one : report.attribution)
    for (const auto& [name, ms] : one.parts_ms) {
      const bool inflated = std::find(one.inflated.begin(), one.inflated.end(), name) != one.inflated.end();
      text += line_of({quoted(one.scope), quoted(one.step), quoted(name), number_text(ms), inflated ? "1" : "0",
                       one.shares_only ? "1" : "0"});
    }
  return text;
}

std::string series_table(const Series& series) {
  std::vector<std::string> fields;
  for (const std::string& column : series.columns) fields.push_back(quoted(column));
  std::string text = line_of(fields);
  for (const std::vector<Cell>& row : series.rows) {
    fields.clear();
    for (const Cell& cell : row) fields.push_back(cell_text(cell));
    text += line_of(fields);
  }
  return text;
}

// Names of series come from files, too: none may lead out of the folder.
std::string file_name_of(const std::string& series) {
  std::string name = series;
  for (char& c : name) {
    const bool fine = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
                      c == '_' || c == '-' || c == '@';
    if (!fine) c = '_';
  }
  if (name.empty() || name.front() == '.') name.insert(0, "_");
  return name.substr(0, 200);
}

}  // namespace

std::map<std::string, std::string> report_to_csv(const Report& report) {
  std::map<std::string, std::string> files{{"metrics.csv", metrics_table(report)},
                                           {"findings.csv", findings_table(report)},
                                           {"attribution.csv", attribution_table(report)}};
  for (const auto& [name, series] : report.series) {
    const std::string stem = file_name_of(name);
    std::string file = stem + ".csv";
    for (int number = 2; files.contains(file); ++number) file = stem + "-" + std::to_string(number) + ".csv";
    files[file] = series_table(series);
  }
  return files;
}

std::string sweep_to_csv(const SeriesSet& all) {
  const std::vector<std::string> columns = all_columns(all);
  if (columns.empty()) return "";
  std::string text = "operation";
  for (const std::string& column : columns) text += "," + quoted(column);
  text += kEndOfLine;
  for (const auto& [name, series] : all) {
    if (!name.starts_with(kPrefix)) continue;
    for (const std::vector<Cell>& row : series.rows) {
      text += quoted(name.substr(kPrefix.size()));
      for (const std::string& column : columns) {
        const auto at = static_cast<std::size_t>(std::find(series.columns.begin(), series.columns.end(), column) -
                                                 series.columns.begin());
        text += "," + (at < row.size() ? cell_text(row[at]) : std::string());
      }
      text += kEndOfLine;
    }
  }
  return text;
}

}  // namespace gradsync
