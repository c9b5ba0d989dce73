// A report as JUnit XML, which CI systems show as tests: a suite for each diagnostic step, a case for each rule and scope.
//
//   fired, at or above `fail_on`   <failure>, with what it says, its evidence and what to try
//   fired, below it                passed, the same text in <system-out>
//   could not be judged            <skipped>, with what is missing and what would help
//   clean                          passed
//
// Times are 0: a rule takes none. Pure.
#pragma once

#include <string>

#include "src/model/report.h"

namespace gradsync {

// Valid XML 1.0 in UTF-8, whatever the report's texts hold: characters that XML forbids are left out.
std::string report_to_junit(const Report& report, Severity fail_on);

}  // namespace gradsync
