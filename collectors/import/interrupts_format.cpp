#include "collectors/import/interrupts_format.h"

#include <limits>
#include <optional>

#include "collectors/import/host_lines.h"
#include "src/base/text.h"
#include "src/hosttext/series.h"

namespace gradsync {
namespace {

constexpr int kLookLines = 40;  // a prompt, a date, a heading

// Counts each snapshot as it ends. The last one waits until it is known to be whole.
struct Dump {
  InterruptCounts counts;
  std::int64_t broken_rows = 0, unnamed = 0, lines = 0;
  std::optional<TimeStamp> at;
  std::string last_row;  // of the snapshot before
  bool last_left_out = false;

  // A dump that was stopped in the middle of a snapshot would count fewer interrupts in the same time.
  void add(const InterruptSnapshot& snapshot) {
    const std::string last = snapshot.rows.empty() ? "" : snapshot.rows.back().id;
    broken_rows += snapshot.broken_rows;
    if (snapshot.rows.empty() || (counts.snapshots() > 0 && (snapshot.ends_broken || last != last_row))) {
      last_left_out = true;
      return;
    }
    last_left_out = false;
    last_row = last;
    at = snapshot.at;
    for (const InterruptRow& row : snapshot.rows) {
      lines += row.device ? 1 : 0;
      unnamed += row.device && row.handlers.empty() ? 1 : 0;
    }
    counts.add(snapshot);
  }
};

Series since_boot_series(const Dump& dump, const std::string& file) {
  Series series{
      std::string(kIrqSinceBoot), {"file", "cpus", "at_s", "device", "irq", "cpu", "count", "vector", "role"}, {}};
  // Stamps of two files are compared only when both are absolute.
  const bool absolute = dump.at && dump.at->kind == StampKind::epoch;
  const double at = absolute ? dump.at->seconds : std::numeric_limits<double>::quiet_NaN();
  for (const InterruptCount& c : dump.counts.since_boot())
    series.rows.push_back({file, static_cast<std::int64_t>(dump.counts.cpus()), at, c.vector.device, c.id,
                           std::int64_t{c.cpu}, static_cast<std::int64_t>(c.count), c.handlers,
                           c.device ? to_string(c.vector.role) : "cpu"});
  return series;
}

void describe_loss(const Dump& dump, Coverage& coverage) {
  if (dump.broken_rows > 0) add_reason(coverage, "rows with another number of counts than CPUs", dump.broken_rows);
  if (dump.last_left_out) add_reason(coverage, "a snapshot without all of its rows is left out");
  if (dump.lines > 0 && dump.unnamed == dump.lines)
    add_reason(coverage, "no interrupt has a name: the ends of the lines are missing, so devices are not known");
  if (dump.counts.backwards() > 0)
    add_reason(coverage, "counters that fell between snapshots are left out", dump.counts.backwards());
}

}  // namespace

bool is_interrupts(std::string_view head) {
  FirstLines lines(head, kLookLines);
  while (const auto line = lines.next())
    if (is_interrupts_header(*line)) return true;
  return false;
}

Result<Imported> import_interrupts(const ImportRequest& request, EventSink&) {
  Result<HostLines> lines = HostLines::open(request.path);
  if (!lines) return lines.error();
  InterruptsParser parser;
  Dump dump;
  while (const auto line = lines->next())
    if (const auto snapshot = parser.add_line(*line)) dump.add(*snapshot);
  if (const auto last = parser.finish()) dump.add(*last);
  if (dump.counts.snapshots() == 0)
    return Error{"cannot be used", request.path.string(),
                 dump.broken_rows > 0 ? "no row of /proc/interrupts has as many counts as there are CPUs: lines are cut"
                                      : "the names of CPUs stand in it, but no interrupts",
                 kTwoSnapshots, 3};
  Imported imported;
  imported.coverage = lines->coverage();
  describe_loss(dump, imported.coverage);
  if (dump.counts.snapshots() == 1) {
    imported.series[std::string(kIrqSinceBoot)] = since_boot_series(dump, request.path.string());
    return imported;
  }
  const std::optional<double> seconds = dump.counts.seconds();
  if (!seconds) {
    add_reason(imported.coverage, "the time between the snapshots is not known: shares, no rates");
    imported.coverage.hint = std::string("put a time before each: ") + kTwoSnapshots;
  }
  imported.series["irq"] = irq_series(dump.counts.between(), {"/proc/interrupts", request.path.string(), seconds});
  return imported;
}

}  // namespace gradsync
