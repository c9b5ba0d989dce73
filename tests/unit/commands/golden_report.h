// A golden case: a folder of tests/golden, and the report that the program makes of what is in it.
//   events.txt    events of the job, as text_events.h reads them
//   facts.txt     what collectors of the machine would have added, key=value, a line each; such a case goes straight to
//                 timelines, because its hosts and its device's streams are no writer's of this machine
//   series.json   tables and coverage that collectors of the doctor wrote, as a report
//   fabric.json, loads.json   as --fabric and --loads name them
//   command.txt   the command that the case is about, other than `run`. `sweep` alone is what it says of series.json, as of
//                 what it has just measured; any other line is run as it stands, in the folder of the case
#pragma once

#include <filesystem>

#include "src/base/result.h"
#include "src/diagnosis/rule_set.h"
#include "src/model/report.h"

namespace gradsync::test {

// Without what differs between machines and versions.
Result<Report> golden_report(const std::filesystem::path& folder, const RuleSet& rules);

}  // namespace gradsync::test
