#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "src/base/text.h"
#include "src/report/json.h"

namespace gradsync {
namespace {

using Json = nlohmann::json;

constexpr double kExactIntegers = 9007199254740992.0;  // 2^53
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// A value and the way to it. The first problem found anywhere is kept; after it every answer is a default, so that
// readers need no branches. The way is put into words only for that problem: rows may be many.
class Node {
 public:
  Node(const Json& value, std::string& problem) : value_(value), problem_(problem) {}

  Node at(const char* key) const {
    static const Json kNothing;
    if (!value_.is_object()) return wrong_type("an object"), Node(kNothing, this, key, 0);
    const auto found = value_.find(key);
    const Node node(found == value_.end() ? kNothing : *found, this, key, 0);
    if (found == value_.end()) node.fail(" is missing");
    return node;
  }

  bool has(const char* key) const { return value_.is_object() && value_.contains(key) && !value_.at(key).is_null(); }

  template <class Visit>
  void each(Visit visit) const {
    if (!value_.is_array()) return wrong_type("a list");
    for (std::size_t index = 0; index < value_.size() && problem_.empty(); ++index)
      visit(Node(value_[index], this, nullptr, index));
  }

  template <class Visit>
  void each_member(Visit visit) const {
    if (!value_.is_object()) return wrong_type("an object");
    for (const auto& [key, member] : value_.items()) visit(key, Node(member, this, key.c_str(), 0));
  }

  std::string text() const {
    if (!value_.is_string()) return wrong_type("a string"), std::string();
    return value_.get<std::string>();
  }

  double number() const {
    if (value_.is_null()) return kNaN;
    if (!value_.is_number()) return wrong_type("a number"), 0.0;
    return value_.get<double>();
  }

  std::int64_t integer(std::int64_t least = std::numeric_limits<std::int64_t>::min(),
                       std::int64_t most = std::numeric_limits<std::int64_t>::max()) const {
    if (!value_.is_number()) return wrong_type("an integer"), 0;
    const double near = value_.get<double>();
    const bool exact =
        value_.is_number_float() ? std::trunc(near) == near && std::abs(near) <= kExactIntegers : !too_large();
    if (!exact) return fail(": " + value_.dump() + " is not an integer of 64 bits"), 0;
    const auto value = value_.get<std::int64_t>();
    if (value < least || value > most) return fail(fmt::format(": {} is out of range", value)), 0;
    return value;
  }

  int small_integer() const {
    return static_cast<int>(integer(std::numeric_limits<int>::min(), std::numeric_limits<int>::max()));
  }

  bool flag() const {
    if (!value_.is_boolean()) return wrong_type("true or false"), false;
    return value_.get<bool>();
  }

  Cell cell() const {
    if (value_.is_string()) return text();
    if (value_.is_number_integer() && !too_large()) return value_.get<std::int64_t>();
    return number();
  }

  std::size_t size() const { return value_.size(); }

  void fail(const std::string& what) const {
    if (problem_.empty()) problem_ = path() + what;
  }

 private:
  Node(const Json& value, const Node* parent, const char* key, std::size_t index)
      : value_(value), problem_(parent->problem_), parent_(parent), key_(key), index_(index) {}

  bool too_large() const {
    return value_.is_number_unsigned() &&
           value_.get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  }

  void wrong_type(const char* expected) const {
    fail(fmt::format(": expected {}, found {}", expected, value_.type_name()));
  }

  std::string path() const {
    if (parent_ == nullptr) return "";
    const std::string way = parent_->path();
    if (key_ == nullptr) return fmt::format("{}[{}]", way, index_);
    return (way.empty() ? "" : way + ".") + escape_controls(shorten(key_, 60, "…"));
  }

  const Json& value_;
  std::string& problem_;
  const Node* parent_ = nullptr;
  const char* key_ = nullptr;
  std::size_t index_ = 0;
};

template <class T, class Convert>
std::vector<T> list(const Node& node, Convert convert) {
  std::vector<T> items;
  node.each([&](const Node& item) { items.push_back(convert(item)); });
  return items;
}

std::vector<std::string> texts(const Node& node) {
  return list<std::string>(node, [](const Node& item) { return item.text(); });
}

std::map<std::string, std::string> text_map(const Node& node) {
  std::map<std::string, std::string> map;
  node.each_member([&](const std::string& key, const Node& member) { map[key] = member.text(); });
  return map;
}

std::optional<double> number_if(const Node& node, const char* key) {
  return node.has(key) ? std::optional(node.at(key).number()) : std::nullopt;
}

std::string text_if(const Node& node, const char* key) { return node.has(key) ? node.at(key).text() : ""; }

// One of an enumeration's words, as to_string writes them.
template <class Enum, std::size_t N>
Enum word(const Node& node, const std::array<Enum, N>& values) {
  const std::string text = node.text();
  std::string allowed;
  for (const Enum value : values) {
    if (text == to_string(value)) return value;
    allowed += (allowed.empty() ? "" : ", ") + std::string(to_string(value));
  }
  node.fail(fmt::format(": '{}' is not one of {}", escape_controls(shorten(text, 60, "…")), allowed));
  return values.front();
}

constexpr std::array kCoverageStates{CoverageState::collected, CoverageState::partial, CoverageState::unavailable};
constexpr std::array kSeverities{Severity::info, Severity::warning, Severity::error};
constexpr std::array kFindingStates{FindingState::fired, FindingState::clean, FindingState::could_not_judge};
constexpr std::array kSavingKinds{SavingKind::bound, SavingKind::predicted, SavingKind::measured};
constexpr std::array kSigns{VerdictSign::costs, VerdictSign::saves, VerdictSign::neutral, VerdictSign::unknown};

ToolInfo tool(const Node& node) {
  return {node.at("name").text(), node.at("version").text(), text_map(node.at("parts"))};
}

RunInfo run(const Node& node) {
  RunInfo run;
  run.command_line = texts(node.at("command_line"));
  run.hosts = texts(node.at("hosts"));
  run.ranks = node.at("ranks").small_integer();
  run.steps = node.at("steps").integer();
  run.seconds = node.at("seconds").number();
  run.backend = node.at("backend").text();
  run.versions = text_map(node.at("versions"));
  run.cpus = node.at("cpus").small_integer();
  run.clocks = node.at("clocks").text();
  run.recording = node.at("recording").text();
  run.recording_id = node.at("recording_id").text();
  if (node.has("exit_status")) run.exit_status = node.at("exit_status").small_integer();
  return run;
}

Coverage coverage(const Node& node) {
  return {node.at("source").text(), node.at("tier").text(), word(node.at("state"), kCoverageStates),
          node.at("reason").text(), node.at("hint").text(), node.at("lost").integer()};
}

// The unit follows from the name and is not read.
Metric metric(const Node& node) {
  return {node.at("name").text(), node.at("scope").text(),  node.at("value").number(),
          node.at("n").integer(), number_if(node, "p10"),   number_if(node, "p50"),
          number_if(node, "p90"), node.at("source").text(), number_if(node, "resolution")};
}

Series series(const Node& node) {
  Series table{node.at("name").text(), texts(node.at("columns")), {}};
  table.rows = list<std::vector<Cell>>(node.at("rows"), [&](const Node& row) {
    auto cells = list<Cell>(row, [](const Node& item) { return item.cell(); });
    if (cells.size() != table.columns.size())
      row.fail(fmt::format(": {} cells for {} columns", cells.size(), table.columns.size()));
    return cells;
  });
  return table;
}

SeriesSet all_series(const Node& node) {
  SeriesSet set;
  node.each([&](const Node& item) {
    Series table = series(item);
    const std::string name = table.name;
    if (!set.emplace(name, std::move(table)).second) item.fail(": a second series of this name");
  });
  return set;
}

Attribution attribution(const Node& node) {
  Attribution entry{node.at("scope").text(), node.at("step").text(), {}, {}, node.at("unit").text() == "percent"};
  if (!entry.shares_only && node.at("unit").text() != "ms") node.at("unit").fail(": only ms and percent are known");
  node.at("parts").each_member(
      [&](const std::string& name, const Node& part) { entry.parts_ms[name] = part.number(); });
  if (node.has("inflated")) entry.inflated = texts(node.at("inflated"));
  return entry;
}

Saving saving(const Node& node) {
  return {word(node.at("kind"), kSavingKinds),
          node.at("unit").text(),
          node.at("p05").number(),
          node.at("p50").number(),
          node.at("p95").number(),
          number_if(node, "probability")};
}

Finding finding(const Node& node) {
  Finding finding;
  finding.rule = node.at("rule").text();
  finding.step = node.at("step").small_integer();
  finding.scope = node.at("scope").text();
  finding.severity = word(node.at("severity"), kSeverities);
  finding.state = word(node.at("state"), kFindingStates);
  finding.title = node.at("title").text();
  finding.says = node.at("says").text();
  finding.evidence = texts(node.at("evidence"));
  finding.where = node.at("where").text();
  finding.why = node.at("why").text();
  finding.advice = texts(node.at("try"));
  finding.explains = texts(node.at("explains"));
  if (node.has("saves")) finding.saves = saving(node.at("saves"));
  finding.would_have_seen = number_if(node, "would_have_seen");
  finding.would_have_seen_unit = text_if(node, "would_have_seen_unit");
  finding.hint = text_if(node, "hint");
  finding.folded_under = text_if(node, "folded_under");
  return finding;
}

Verdict verdict(const Node& node) {
  return {node.at("text").text(),  word(node.at("sign"), kSigns), node.at("ms").number(),
          node.at("p05").number(), node.at("p95").number(),       node.at("measured").flag()};
}

Report report(const Node& root) {
  Report report;
  report.tool = tool(root.at("tool"));
  report.command = root.at("command").text();
  report.run = run(root.at("run"));
  report.facts = text_map(root.at("facts"));
  report.coverage = list<Coverage>(root.at("coverage"), coverage);
  report.metrics = list<Metric>(root.at("metrics"), metric);
  report.series = all_series(root.at("series"));
  report.attribution = list<Attribution>(root.at("attribution"), attribution);
  report.findings = list<Finding>(root.at("findings"), finding);
  report.verdict = verdict(root.at("verdict"));
  return report;
}

Error unreadable(std::string_view origin, std::string why, std::string hint = "") {
  return Error{"cannot read report", escape_controls(origin), std::move(why), std::move(hint), 3};
}

// "line 3, column 7" of the first byte that is not JSON; `byte` counts from 1.
std::string position(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, byte == 0 ? 0 : std::min(text.size(), byte - 1));
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t newline = before.rfind('\n');
  const std::size_t column = newline == std::string_view::npos ? before.size() + 1 : before.size() - newline;
  return fmt::format("line {}, column {}", line, column);
}

Result<Json> parse(std::string_view text, std::string_view origin) {
  if (trim(text).empty()) return unreadable(origin, "it is empty");
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    return unreadable(origin, "not JSON at " + position(text, error.byte));
  } catch (const Json::out_of_range&) {
    return unreadable(origin, "a number in it is out of range");
  }
}

}  // namespace

Result<Report> report_from_json(std::string_view text, std::string_view origin) {
  const Result<Json> json = parse(text, origin);
  if (!json) return json.error();
  if (!json->is_object() || !json->contains("schema_version"))
    return unreadable(origin, "JSON, but not a report (no schema_version)",
                      "gradsync-doctor analyze reads traces and logs; show reads reports");
  std::string problem;
  const Node root(*json, problem);
  const std::int64_t version = root.at("schema_version").integer(1);
  if (version > kReportSchemaVersion)
    return unreadable(origin,
                      fmt::format("its schema_version is {}, this program knows {}", version, kReportSchemaVersion),
                      "read it with the gradsync-doctor that wrote it, or a newer one");
  Report result = report(root);
  if (!problem.empty()) return unreadable(origin, problem);
  return result;
}

}  // namespace gradsync
