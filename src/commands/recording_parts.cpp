#include "src/commands/recording_parts.h"

#include <algorithm>
#include <vector>

#include "src/base/file.h"
#include "src/report/json.h"

namespace gradsync {
namespace fs = std::filesystem;

Result<void> make_recording_folder(const fs::path& folder) {
  if (const Result<void> made = make_private_directory(folder); !made) return made.error();
  for (const char* part : {"hello", "events", "windows", "series", "profiles"})
    if (const Result<void> made = make_private_directory(folder / part); !made) return made.error();
  return {};
}

Result<void> write_recording_parts(const fs::path& folder, const Report& parts) {
  Report head = parts;
  head.series.clear();
  if (const Result<void> written = write_file(folder / "recording.json", report_to_json(head)); !written)
    return written.error();
  for (const auto& [name, series] : parts.series) {
    Report one;
    one.tool = parts.tool;
    one.command = "series";
    one.series[name] = series;
    if (const Result<void> written = write_file(folder / "series" / (name + ".json"), report_to_json(one)); !written)
      return written.error();
  }
  return {};
}

namespace {

Result<Report> read_report_file(const fs::path& path) {
  const Result<std::string> bytes = read_file(path);
  if (!bytes) return bytes.error();
  return report_from_json(*bytes, path.string());
}

Coverage unreadable(const std::string& what, const Error& error) {
  return {what, "", CoverageState::partial, error.message(), error.hint, 0};
}

}  // namespace

Report read_recording_parts(const fs::path& folder) {
  Report parts;
  if (Result<Report> head = read_report_file(folder / "recording.json"))
    parts = std::move(*head);
  else
    parts.coverage.push_back(unreadable("recording.json", head.error()));
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder / "series", error)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) {
    Result<Report> one = read_report_file(file);
    if (!one)
      parts.coverage.push_back(unreadable("series " + file.filename().string(), one.error()));
    else
      parts.series.merge(one->series);
  }
  return parts;
}

}  // namespace gradsync
