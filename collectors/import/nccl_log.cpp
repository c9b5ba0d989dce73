#include "collectors/import/nccl_log.h"

#include "collectors/import/nccl_debug.h"
#include "collectors/import/nccl_lines.h"
#include "collectors/import/nccl_tests_log.h"
#include "src/base/text.h"

namespace gradsync {
namespace {

// Calls `look` with each line of `text` until it answers true.
template <class Look>
bool any_line(std::string_view text, const Look& look) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    if (line.size() <= LineReader::kLongestLine && look(without_launcher_tag(line))) return true;
    if (end == std::string_view::npos) return false;
    text.remove_prefix(end + 1);
  }
  return false;
}

// A program's header, which is there even when the log ends before its table.
bool is_settings(std::string_view line) {
  const std::size_t at = line.find("# nThread ");
  if (at != std::string_view::npos && line.find(" minBytes ", at) != std::string_view::npos) return true;
  return line.find("# Collective test starting: ") != std::string_view::npos;
}

void add_facts(const NcclTestsLog& tests, Facts& facts) {
  const auto tell = [&](const char* key, const std::string& value) {
    if (value.empty()) return;
    std::string& told = facts[key];
    if (told.empty()) told = value;
  };
  tell("nccl.version", tests.version());
  std::vector<std::string> gpus(tests.gpus().begin(), tests.gpus().end());
  if (gpus.size() > 4) gpus.resize(4);
  tell("nccl.gpu", escape_controls(join(gpus, ", ")));
  double ranks = 0, nodes = 0;
  for (const SweepRun& run : tests.runs()) {
    if (run.ranks > ranks) ranks = run.ranks;
    if (run.nodes > nodes) nodes = run.nodes;
  }
  if (ranks > 0) tell("nccl.ranks", std::to_string(static_cast<std::int64_t>(ranks)));
  if (nodes > 0) tell("nccl.nodes", std::to_string(static_cast<std::int64_t>(nodes)));
}

}  // namespace

bool is_nccl_tests_log(std::string_view head) {
  if (head.find('\0') != std::string_view::npos) return false;
  return any_line(head, [](std::string_view line) { return table_layout(line, "").has_value() || is_settings(line); });
}

bool is_nccl_debug_log(std::string_view head) {
  if (head.find('\0') != std::string_view::npos) return false;
  // Behind another prefix, such as that of a container's log, three lines: a text may quote one.
  int seen = 0;
  return any_line(head, [&](std::string_view line) {
    const auto found = find_nccl_line(line);
    if (found) seen += trim(found->before).empty() ? 3 : 1;
    return seen >= 3;
  });
}

void NcclLog::line(std::string_view text) {
  const std::string_view line = without_launcher_tag(text);
  if (const auto from_nccl = find_nccl_line(line)) {
    tests_.interrupted(*from_nccl);
    debug_.line(*from_nccl);
  } else {
    tests_.line(line);
    debug_.plain_line(line);
  }
}

Result<Imported> NcclLog::finish(const std::filesystem::path& path, Damage damage) {
  tests_.finish();
  std::vector<std::string> remarks = tests_.remarks();
  if (tests_.runs().empty() && debug_.lines() == 0)
    return Error{"holds no measurement", path.string(),
                 tests_.rows_without_numbers() > 0 ? remarks.front() : "the log ends before the first row of its table",
                 "nccl-tests writes one row for each size; run it again, or name the whole log", 3};
  Imported imported;
  for (const SweepRun& run : tests_.runs()) add_run(run, imported.series);
  debug_.report(imported.facts, imported.series);
  add_facts(tests_, imported.facts);
  if (tests_.saw_table() && tests_.runs().empty()) remarks.emplace_back("its table holds no measured row");
  if (damage != Damage::none) remarks.emplace_back(to_string(damage));
  if (debug_.dropped() > 0)
    remarks.push_back(std::to_string(debug_.dropped()) + " names and choices of NCCL are too many to keep");
  imported.coverage.lost = tests_.rows_lost();
  if (!remarks.empty()) {
    imported.coverage.state = CoverageState::partial;
    imported.coverage.reason = join(remarks, "; ");
  }
  return imported;
}

Result<Imported> import_nccl_log(const ImportRequest& request, EventSink&) {
  Result<ByteSource> source = ByteSource::open(request.path);
  if (!source) return source.error();
  LineReader reader(std::move(*source));
  NcclLog log(request.path.filename().string());
  while (const auto text = reader.next()) log.line(*text);
  return log.finish(request.path, reader.damage());
}

}  // namespace gradsync
