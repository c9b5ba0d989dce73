// The report as text for a terminal, a log or a mail: a pure function of the report and the options. It rounds and
// arranges; it computes no statistic and knows no threshold. Strings that came from the job are escaped.
#pragma once

#include <string>

#include "src/model/report.h"

namespace gradsync {

enum class Color { off, on };        // the caller resolves --color auto: terminal, NO_COLOR
enum class Charset { utf8, ascii };  // the caller looks at the locale
enum class Verbosity { quiet, normal, verbose };
//   quiet    the verdict, and one line and the saving of each finding
//   verbose  also why, every rank's step, facts, versions and sources, and what was collected without trouble

struct TerminalOptions {
  int width = 80;  // columns; taken as 40 to 160
  Color color = Color::off;
  Charset charset = Charset::utf8;
  Verbosity verbosity = Verbosity::normal;
};

// Ends with a newline; no line is wider than the width, none ends with a blank.
std::string render_terminal(const Report& report, const TerminalOptions& options);

}  // namespace gradsync
