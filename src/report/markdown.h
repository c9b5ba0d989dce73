// A report as GitHub-flavoured Markdown, for a comment on a pull request or an issue: the verdict, where the median step
// goes, what became of the four diagnostic steps, the findings; folded away: why some rules could not be judged,
// coverage, and what was found clean. Pure.
//
// Text that came from the job (paths, names, command lines) cannot become markup, a link, a mention or a new line.
#pragma once

#include <string>

#include "src/model/report.h"

namespace gradsync {

std::string report_to_markdown(const Report& report);

}  // namespace gradsync
