// Facts, versions and the tool's own parts: tables, closed until somebody wants them.
#include "src/report/html/parts.h"
#include "src/report/html/table.h"

namespace gradsync {
namespace {

using Map = std::map<std::string, std::string>;

void write_map(std::string_view caption, const Map& map, Markup& page) {
  if (map.empty()) return;
  Table table(page, caption, {{"name"}, {"value", ColumnKind::prose}});
  for (const auto& [name, value] : map) table.row({name, value});
  table.finish();
}

}  // namespace

void write_facts(const Report& report, Markup& page) {
  page.open("section", {{"aria-labelledby", "facts"}});
  page.element("h2", {{"id", page.id("facts")}}, "Facts and versions");
  write_map("Versions", report.run.versions, page);
  if (report.facts.empty() && report.tool.parts.empty() && report.run.recording.empty()) return page.close();
  page.open("details");
  page.element("summary", {}, "Facts of the job and of this tool");
  write_map("Facts", report.facts, page);
  write_map("Tool", report.tool.parts, page);
  if (!report.run.recording.empty()) write_map("Recording", {{report.run.recording, report.run.recording_id}}, page);
  page.close();
  page.close();
}

}  // namespace gradsync
