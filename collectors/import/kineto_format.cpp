#include "collectors/import/kineto_format.h"

#include "collectors/import/json_scan.h"
#include "collectors/import/kineto.h"
#include "src/base/text.h"

namespace gradsync {
namespace {

// The first element decides whether a bare list is one of events: an object with a phase, or nothing at all.
bool is_event_list(std::string_view elements) {
  elements = trim(elements);
  if (elements.empty() || elements.front() == ']') return true;
  if (elements.front() != '{') return false;
  const Scan first = scan_value(elements);
  return elements.substr(0, first.length).find("\"ph\"") != std::string_view::npos;
}

// The beginning of an object whose list of events is further on (a long distributedInfo), or behind the cut.
bool begins_like_kineto(std::string_view text) {
  for (const std::string_view key : {"\"schemaVersion\"", "\"deviceProperties\"", "\"distributedInfo\""})
    if (text.find(key) != std::string_view::npos) return true;
  return false;
}

}  // namespace

bool is_chrome_trace(std::string_view head) {
  const EventArrayStart start = find_event_array(head);
  if (start.state == ArrayStart::found) return !start.bare || is_event_list(head.substr(start.first));
  const std::string_view text = trim(head);
  const bool report = head.find("\"gradsync-doctor\"") != std::string_view::npos;
  return !text.empty() && text.front() == '{' && !report && start.state == ArrayStart::need_more &&
         begins_like_kineto(head);
}

Result<Imported> import_chrome_trace(const ImportRequest& request, EventSink& sink) {
  ImportOptions options;
  ProcessInfo process;
  process.host = kTraceHost;
  process.pid = request.first_process;
  process.command = request.path.string();
  process.exited_cleanly = true;
  options.process = process;
  const Result<ImportStats> stats = import_kineto(request.path, options, sink);
  if (!stats) return stats.error();
  Imported imported;
  imported.processes = 1;
  imported.ranks = (stats->rank.rank ? std::to_string(*stats->rank.rank) : "none, by order") + " (" +
                   to_string(stats->rank.source) + ")";
  imported.coverage.lost = static_cast<std::int64_t>(stats->lost);
  if (stats->lost > 0 || stats->cut) {
    imported.coverage.state = CoverageState::partial;
    imported.coverage.reason = stats->loss_reason;
  }
  return imported;
}

}  // namespace gradsync
