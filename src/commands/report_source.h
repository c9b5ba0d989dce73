// What PATH of show and whatif is: a report (JSON), or a recording that is judged again.
#pragma once

#include <filesystem>
#include <string>

#include "src/base/result.h"
#include "src/model/report.h"

namespace gradsync {

// The recording that a report names: from here, or from where the report is. Empty: the report names none, or it is gone.
std::filesystem::path recording_of(const Report& report, const std::filesystem::path& report_file);

// "the report names no recording", "its recording out/rec is gone"
std::string why_no_recording(const Report& report);

}  // namespace gradsync
