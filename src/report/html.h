// The report as one HTML file: a pure function of the report. Nothing is loaded from elsewhere and nothing is sent; the
// page's own style and script are the only ones that its policy lets run, and it says the same without the script. It
// rounds and arranges, as the terminal does (terminal.h), and shares the words with it; strings that came from the job
// are escaped. The page is well-formed XML behind its first line, so that a test can read it as such.
#pragma once

#include <string>

#include "src/model/report.h"

namespace gradsync {

// UTF-8, ends with a newline.
std::string render_html(const Report& report);

}  // namespace gradsync
