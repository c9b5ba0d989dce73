#include "collectors/import/interrupts_join.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "collectors/import/interrupts_format.h"
#include "src/hosttext/series.h"

namespace gradsync {
namespace {

// One file's rows of the series, made a snapshot again.
struct File {
  std::string path;
  std::int64_t cpus = 0;
  double at_s = 0;
  using Line = std::pair<std::string, std::string>;  // irq, vector
  std::map<Line, std::map<int, std::uint64_t>> counts;
  std::set<Line> device_lines;
};

std::vector<File> files_of(const Series& series) {
  std::vector<File> files;
  for (const auto& row : series.rows) {
    const std::string& path = std::get<std::string>(row[0]);
    if (files.empty() || files.back().path != path)
      files.push_back({path, std::get<std::int64_t>(row[1]), std::get<double>(row[2]), {}, {}});
    const File::Line line{std::get<std::string>(row[4]), std::get<std::string>(row[7])};
    files.back().counts[line][static_cast<int>(std::get<std::int64_t>(row[5]))] =
        static_cast<std::uint64_t>(std::get<std::int64_t>(row[6]));
    if (std::get<std::string>(row[8]) != "cpu") files.back().device_lines.insert(line);
  }
  return files;
}

// As many CPUs, and nine of ten lines with the same number and name.
bool same_machine(const File& a, const File& b) {
  std::size_t common = 0;
  for (const auto& [line, counts] : a.counts) common += b.counts.contains(line) ? 1 : 0;
  return a.cpus == b.cpus && common * 10 >= std::max(a.counts.size(), b.counts.size()) * 9;
}

InterruptSnapshot snapshot_of(const File& file, const std::set<int>& cpus) {
  InterruptSnapshot snapshot;
  snapshot.cpus.assign(cpus.begin(), cpus.end());
  if (std::isfinite(file.at_s)) snapshot.at = TimeStamp{StampKind::epoch, file.at_s};
  for (const auto& [line, counts] : file.counts) {
    InterruptRow row{line.first, file.device_lines.contains(line), line.second, {}};
    for (const int cpu : cpus) {
      const auto count = counts.find(cpu);
      row.counts.push_back(count == counts.end() ? 0 : count->second);
    }
    snapshot.rows.push_back(std::move(row));
  }
  return snapshot;
}

InterruptCounts between(const File& before, const File& after) {
  std::set<int> cpus;
  for (const File* file : {&before, &after})
    for (const auto& [line, counts] : file->counts)
      for (const auto& [cpu, count] : counts) cpus.insert(cpu);
  InterruptCounts counts;
  counts.add(snapshot_of(before, cpus));
  counts.add(snapshot_of(after, cpus));
  return counts;
}

Coverage cannot_join(const std::string& why) {
  return {"interrupts",
          "",
          CoverageState::partial,
          why + ": counts since boot are no interval",
          std::string("take two, some seconds apart: ") + kTwoSnapshots,
          0};
}

}  // namespace

void join_interrupt_files(SeriesSet& series, std::vector<Coverage>& coverage) {
  const auto found = series.find(std::string(kIrqSinceBoot));
  if (found == series.end()) return;
  const std::vector<File> files = files_of(found->second);
  if (files.size() == 1) return coverage.push_back(cannot_join("there is one snapshot only"));
  if (files.size() > 2) return coverage.push_back(cannot_join("there are more than two files with one snapshot each"));
  if (!same_machine(files[0], files[1])) return coverage.push_back(cannot_join("the snapshots are of two machines"));
  InterruptCounts counts = between(files[0], files[1]);
  if (counts.backwards() > 0)  // named in the other order?
    if (InterruptCounts other = between(files[1], files[0]); other.backwards() < counts.backwards())
      counts = std::move(other);
  if (counts.backwards() * 100 > counts.compared())
    return coverage.push_back(cannot_join("the snapshots are of two boots"));
  Coverage joined{"interrupts", "", CoverageState::collected, "", "", counts.backwards()};
  const std::optional<double> seconds = counts.seconds();
  if (!seconds) {
    joined.state = CoverageState::partial;
    joined.reason = "the time between the two snapshots is not known: shares, no rates";
    joined.hint = std::string("put a time before each: ") + kTwoSnapshots;
  }
  const Series irq = irq_series(counts.between(), {"/proc/interrupts", files[0].path, seconds});
  series.erase(found);
  Series& whole = series["irq"];
  if (whole.columns.empty()) whole = {irq.name, irq.columns, {}};
  whole.rows.insert(whole.rows.end(), irq.rows.begin(), irq.rows.end());
  coverage.push_back(std::move(joined));
}

}  // namespace gradsync
