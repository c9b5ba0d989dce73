#include "src/commands/foreign_files.h"

#include <algorithm>
#include <memory>
#include <set>

#include "collectors/import/interrupts_join.h"
#include "collectors/import/recognise.h"
#include "src/base/in_parallel.h"
#include "src/timeline/builder.h"

namespace gradsync {
namespace {

namespace fs = std::filesystem;

// What one thread made of one file.
struct ReadFile {
  std::unique_ptr<TimelineBuilder> timeline;
  std::string_view kind;
  std::optional<Imported> imported;
  std::optional<Error> error;
};

ReadFile read_file(const fs::path& path, std::int64_t first_process, const std::vector<NameClass>& range_classes) {
  ReadFile read;
  const Result<Recognised> found = recognise(path);
  if (!found) {
    read.error = found.error();
    return read;
  }
  if (found->kind != FileKind::importable) {
    read.error = refusal(found->kind, path);
    return read;
  }
  read.kind = found->format->name;
  read.timeline = std::make_unique<TimelineBuilder>(range_classes);
  Result<Imported> imported = found->format->import({path, first_process}, *read.timeline);
  if (imported)
    read.imported = std::move(*imported);
  else
    read.error = imported.error();
  return read;
}

std::vector<ReadFile> read_all(const std::vector<fs::path>& files, const std::vector<NameClass>& range_classes,
                               int threads) {
  constexpr std::int64_t kProcessesPerFile = 1 << 20;
  std::vector<ReadFile> read(files.size());
  in_parallel(files.size(), threads, [&](std::size_t i) {
    read[i] = read_file(files[i], static_cast<std::int64_t>(i) * kProcessesPerFile + 1, range_classes);
  });
  return read;
}

void append(SeriesSet& all, SeriesSet&& more, std::vector<Coverage>& coverage) {
  for (auto& [name, series] : more) {
    Series& whole = all[name];
    if (whole.columns.empty()) {
      whole = std::move(series);
      continue;
    }
    if (whole.columns != series.columns) {
      coverage.push_back({"series " + name, "", CoverageState::partial, "a second file has other columns", "", 0});
      continue;
    }
    std::move(series.rows.begin(), series.rows.end(), std::back_inserter(whole.rows));
  }
}

// Facts of different files that contradict each other are all told.
void append(Facts& all, const Facts& more) {
  for (const auto& [key, value] : more) {
    std::string& told = all[key];
    if (told.empty())
      told = value;
    else if (("; " + told + "; ").find("; " + value + "; ") == std::string::npos)
      told += "; " + value;
  }
}

}  // namespace

Result<ForeignJob> read_foreign_files(const std::vector<fs::path>& files, const std::vector<NameClass>& range_classes,
                                      int threads) {
  std::vector<ReadFile> read = read_all(files, range_classes, threads);
  ForeignJob job;
  job.inputs.origin = Origin::files;
  TimelineBuilder all(range_classes);
  std::string rank_sources;
  std::int64_t processes = 0;
  bool any = false;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::string name = files[i].filename().string();
    Coverage coverage{"file " + name, "", CoverageState::unavailable, "", "", 0};
    if (read[i].error) {
      coverage.reason = read[i].error->message();
      coverage.hint = read[i].error->hint;
      job.inputs.coverage.push_back(std::move(coverage));
      continue;
    }
    any = true;
    Imported& imported = *read[i].imported;
    coverage = std::move(imported.coverage);
    coverage.source = std::string(read[i].kind) + " " + name;
    job.inputs.coverage.push_back(std::move(coverage));
    append(job.inputs.series, std::move(imported.series), job.inputs.coverage);
    append(job.inputs.facts, imported.facts);
    if (imported.processes > 0) rank_sources += (rank_sources.empty() ? "" : "; ") + name + ": " + imported.ranks;
    processes += imported.processes;
    all.absorb(*read[i].timeline, files[i].string());  // each file has a clock of its own
  }
  if (!any) return *read.front().error;
  join_interrupt_files(job.inputs.series, job.inputs.coverage);
  if (!rank_sources.empty()) job.inputs.facts["ranks.source"] = rank_sources;
  job.ranks = all.build(threads);
  if (processes > static_cast<std::int64_t>(job.ranks.size()) && processes > 1)
    job.inputs.coverage.push_back({"ranks", "", CoverageState::partial,
                                   std::to_string(processes) + " processes make " + std::to_string(job.ranks.size()) +
                                       " ranks: a second one of the same rank, or one that does not train, is left out",
                                   "analyze the files of one job and one time together", 0});
  return job;
}

}  // namespace gradsync
