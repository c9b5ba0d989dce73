#include "src/commands/report_source.h"

#include "src/spool_reader/recording.h"

namespace gradsync {
namespace fs = std::filesystem;

fs::path recording_of(const Report& report, const fs::path& report_file) {
  if (report.run.recording.empty()) return {};
  for (const fs::path& place : {fs::path(report.run.recording), report_file.parent_path() / report.run.recording})
    if (is_recording(place)) return place;
  return {};
}

std::string why_no_recording(const Report& report) {
  return report.run.recording.empty() ? "the report names no recording"
                                      : "its recording " + report.run.recording + " is gone";
}

}  // namespace gradsync
