#include <cmath>
#include <nlohmann/json.hpp>

#include "src/report/json.h"

namespace gradsync {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kLineWidth = 118;

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

void put_if(Json& object, const char* key, const std::optional<double>& value) {
  if (value && std::isfinite(*value)) object[key] = *value;
}

void put_if(Json& object, const char* key, const std::string& text) {
  if (!text.empty()) object[key] = text;
}

// A list stays a list when it is empty (a default Json would be null).
template <class T, class Convert>
Json list(const std::vector<T>& items, Convert convert) {
  Json array = Json::array();
  for (const T& item : items) array.push_back(convert(item));
  return array;
}

Json list(const std::vector<std::string>& items) {
  return list(items, [](const std::string& item) { return Json(item); });
}

Json texts(const std::map<std::string, std::string>& map) {
  Json object = Json::object();
  for (const auto& [key, value] : map) object[key] = value;
  return object;
}

Json tool(const ToolInfo& tool) {
  return Json{{"name", tool.name}, {"version", tool.version}, {"parts", texts(tool.parts)}};
}

Json run(const RunInfo& run) {
  Json object{{"command_line", list(run.command_line)},
              {"hosts", list(run.hosts)},
              {"ranks", run.ranks},
              {"steps", run.steps},
              {"seconds", number(run.seconds)},
              {"backend", run.backend},
              {"versions", texts(run.versions)},
              {"cpus", run.cpus},
              {"clocks", run.clocks},
              {"recording", run.recording},
              {"recording_id", run.recording_id}};
  if (run.exit_status) object["exit_status"] = *run.exit_status;
  return object;
}

Json coverage(const Coverage& entry) {
  return Json{{"source", entry.source}, {"tier", entry.tier}, {"state", to_string(entry.state)},
              {"reason", entry.reason}, {"hint", entry.hint}, {"lost", entry.lost}};
}

Json metric(const Metric& metric) {
  Json object{{"name", metric.name},
              {"scope", metric.scope},
              {"value", number(metric.value)},
              {"unit", metric.unit()},
              {"n", metric.n}};
  put_if(object, "p10", metric.p10);
  put_if(object, "p50", metric.p50);
  put_if(object, "p90", metric.p90);
  object["source"] = metric.source;
  put_if(object, "resolution", metric.resolution);
  return object;
}

Json cell(const Cell& cell) {
  if (const auto* value = std::get_if<double>(&cell)) return number(*value);
  if (const auto* value = std::get_if<std::int64_t>(&cell)) return *value;
  return std::get<std::string>(cell);
}

Json series(const std::string& name, const Series& table) {
  Json rows = list(table.rows, [](const std::vector<Cell>& row) { return list(row, cell); });
  return Json{{"name", name}, {"columns", list(table.columns)}, {"rows", std::move(rows)}};
}

Json attribution(const Attribution& entry) {
  double whole = 0;
  for (const auto& [name, milliseconds] : entry.parts_ms) whole += milliseconds;
  const double factor = entry.shares_only && whole > 0 ? 100 / whole : 1;
  Json parts = Json::object();
  for (const auto& [name, milliseconds] : entry.parts_ms) parts[name] = number(factor * milliseconds);
  Json object{{"scope", entry.scope},
              {"step", entry.step},
              {"unit", entry.shares_only ? "percent" : "ms"},
              {"parts", std::move(parts)}};
  if (!entry.inflated.empty()) object["inflated"] = list(entry.inflated);
  return object;
}

Json saving(const Saving& saving) {
  Json object{{"kind", to_string(saving.kind)},
              {"unit", saving.unit},
              {"p05", number(saving.p05)},
              {"p50", number(saving.p50)},
              {"p95", number(saving.p95)}};
  put_if(object, "probability", saving.probability);
  return object;
}

Json finding(const Finding& finding) {
  Json object{{"rule", finding.rule},
              {"step", finding.step},
              {"scope", finding.scope},
              {"severity", to_string(finding.severity)},
              {"state", to_string(finding.state)},
              {"title", finding.title},
              {"says", finding.says},
              {"evidence", list(finding.evidence)},
              {"where", finding.where},
              {"why", finding.why},
              {"try", list(finding.advice)},
              {"explains", list(finding.explains)}};
  if (finding.saves) object["saves"] = saving(*finding.saves);
  put_if(object, "would_have_seen", finding.would_have_seen);
  put_if(object, "would_have_seen_unit", finding.would_have_seen_unit);
  put_if(object, "hint", finding.hint);
  put_if(object, "folded_under", finding.folded_under);
  return object;
}

Json verdict(const Verdict& verdict) {
  return Json{{"text", verdict.text},       {"sign", to_string(verdict.sign)}, {"ms", number(verdict.ms)},
              {"p05", number(verdict.p05)}, {"p95", number(verdict.p95)},      {"measured", verdict.measured}};
}

Json document(const Report& report) {
  Json tables = Json::array();
  for (const auto& [name, table] : report.series) tables.push_back(series(name, table));
  return Json{{"schema_version", kReportSchemaVersion},
              {"tool", tool(report.tool)},
              {"command", report.command},
              {"run", run(report.run)},
              {"facts", texts(report.facts)},
              {"coverage", list(report.coverage, coverage)},
              {"metrics", list(report.metrics, metric)},
              {"series", std::move(tables)},
              {"attribution", list(report.attribution, attribution)},
              {"findings", list(report.findings, finding)},
              {"verdict", verdict(report.verdict)}};
}

std::string flat(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

// Whether the value could fit: at least one character for each of its parts. Stops counting when it cannot, so that a
// large table is not printed flat at every level before it is broken into rows.
bool may_fit(const Json& value, std::size_t& room) {
  if (room == 0) return false;
  --room;
  if (!value.is_structured()) return true;
  for (const Json& part : value)
    if (!may_fit(part, room)) return false;
  return true;
}

// Broken into lines only where a value does not fit on one: a reader can scan it, and a diff shows the row that changed.
void print(const Json& value, std::size_t indent, std::string& out) {
  std::size_t room = kLineWidth - indent;
  if (!value.is_structured() || value.empty() || may_fit(value, room)) {
    const std::string line = flat(value);
    if (!value.is_structured() || value.empty() || indent + line.size() <= kLineWidth) {
      out += line;
      return;
    }
  }
  const bool object = value.is_object();
  const char* separator = "\n";
  out += object ? '{' : '[';
  for (const auto& [key, item] : value.items()) {
    out += separator;
    out.append(indent + 2, ' ');
    if (object) out += flat(Json(key)) + ": ";
    print(item, indent + 2, out);
    separator = ",\n";
  }
  out += '\n';
  out.append(indent, ' ');
  out += object ? '}' : ']';
}

}  // namespace

std::string report_to_json(const Report& report) {
  std::string text;
  print(document(report), 0, text);
  text += '\n';
  return text;
}

}  // namespace gradsync
