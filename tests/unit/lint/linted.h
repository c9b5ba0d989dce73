// What a lint says of a command, as lines of text: "error -t nvsmi", and the right command.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "src/lint/command_lint.h"

namespace gradsync::test {

inline CommandLint linted(Result<CommandLint> (*lint)(const std::string&), const std::string& command) {
  auto found = lint(command);
  REQUIRE_MESSAGE(found, found.error().message());
  return std::move(*found);
}

inline std::vector<std::string> said(const CommandLint& lint) {
  std::vector<std::string> lines;
  for (const LintFinding& finding : lint.findings)
    lines.push_back(std::string(to_string(finding.severity)) + " " + finding.word);
  return lines;
}

}  // namespace gradsync::test
