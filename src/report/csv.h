// Reports as CSV (RFC 4180): fields with a comma, a quote or a line break stand in quotes, lines end with CR LF. Text is
// written as it is: a field that begins with =, +, - or @ is a formula to some spreadsheets. Pure.
#pragma once

#include <map>
#include <string>

#include "src/model/report.h"

namespace gradsync {

// The whole report, file name → content: metrics.csv, findings.csv, attribution.csv, and <series>.csv for each series. What
// is not known is empty. Characters of a series' name that do not belong in a file's become _; a name that is then taken
// gets a number behind it.
std::map<std::string, std::string> report_to_csv(const Report& report);

// The rows of a size sweep: a column `operation`, then those of the series sweep.<op>. One header, the rows of all operations below it; a column that only some of them have is empty in the others. What is
// not known is empty. Empty where there is no sweep.
std::string sweep_to_csv(const SeriesSet& series);

}  // namespace gradsync
