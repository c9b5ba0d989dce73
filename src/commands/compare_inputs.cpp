#include "src/commands/compare_inputs.h"

#include <algorithm>
#include <filesystem>
#include <thread>

#include "src/base/file.h"
#include "src/commands/examine.h"
#include "src/commands/exit_status.h"
#include "src/report/json.h"
#include "src/spool_reader/recording.h"

namespace gradsync {
namespace {

namespace fs = std::filesystem;

Error without_steps(const std::string& path) {
  return {"cannot compare", path, "it holds no steps of a job: no step time was measured",
          "gradsync-doctor run --json FILE -- CMD", exit_status::kNothingUsable};
}

Result<std::vector<fs::path>> entries_of(const std::string& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    entries.push_back(entry->path());
  if (error) return Error{"cannot read", folder, error.message(), "", exit_status::kNothingUsable};
  std::sort(entries.begin(), entries.end());
  return entries;
}

Result<ComparedInput> runs_in(const std::string& folder, const RuleSet& rules) {
  const Result<std::vector<fs::path>> entries = entries_of(folder);
  if (!entries) return entries.error();
  ComparedInput input;
  std::int64_t others = 0;
  std::string first;
  for (const fs::path& entry : *entries) {
    const bool candidate = is_recording(entry) || entry.extension() == ".json";
    if (!candidate) continue;
    Result<Report> report = report_at(entry.string(), rules);
    if (report && step_time_of(*report) != nullptr) {
      input.runs.push_back({entry.string(), std::move(*report)});
      continue;
    }
    if (others++ == 0) first = report ? without_steps(entry.string()).message() : report.error().message();
  }
  if (input.runs.empty() && others > 0) return Error{"cannot compare", folder, first, "", exit_status::kNothingUsable};
  if (input.runs.empty())
    return Error{"cannot compare", folder, "it is no recording and holds neither reports (.json) nor recordings",
                 "gradsync-doctor run --json FOLDER/1.json -- CMD", exit_status::kNothingUsable};
  if (others > 0)
    input.left_out.push_back({"files in " + folder, "", CoverageState::partial,
                              std::to_string(others) + " of them could not be used: " + first, "", others});
  return input;
}

}  // namespace

Result<Report> report_at(const std::string& path, const RuleSet& rules) {
  if (is_recording(path)) {
    const int threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    return examine(path, rules, {threads, {}});
  }
  const Result<std::string> bytes = read_file(path);
  if (!bytes) return bytes.error();
  return report_from_json(*bytes, path);
}

Result<ComparedInput> compared_input(const std::string& path, const RuleSet& rules) {
  std::error_code error;
  if (!is_recording(path) && fs::is_directory(path, error)) return runs_in(path, rules);
  Result<Report> report = report_at(path, rules);
  if (!report) return report.error();
  if (step_time_of(*report) == nullptr) return without_steps(path);
  ComparedInput input;
  input.runs.push_back({path, std::move(*report)});
  return input;
}

}  // namespace gradsync
