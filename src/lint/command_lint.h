// What is wrong with a command that somebody typed, and the right one: three lints, nsys-command, nccl-tests-command and
// perf-command. Pure: no program is looked for or started.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/base/result.h"
#include "src/lint/option_table.h"
#include "src/lint/shell_words.h"
#include "src/model/report.h"

namespace gradsync {

struct LintFinding {
  Severity severity = Severity::error;  // error: does not run, or measures nothing; info: worth knowing
  std::string word;                     // of the command: what it is about
  std::string says;
  std::string fix;  // what to write instead; may be empty
};

struct CommandLint {
  std::string rule;  // "nsys-command"
  int step = 1;      // diagnostic step that such a command serves
  std::string given;
  std::vector<LintFinding> findings;
  std::vector<std::string> right;  // lines of shell; empty: the command is fine as it is
  std::vector<std::string> notes;  // what a right command still needs
};

// Errors (exit status 2): an unclosed quote; nothing in the line that the lint knows.
Result<CommandLint> lint_nsys(const std::string& text);
Result<CommandLint> lint_nccl_tests(const std::string& text);
Result<CommandLint> lint_perf(const std::string& text);

// The lint as a report's findings, graver first.
std::vector<Finding> findings_of(const CommandLint& lint);

// --- what the lints share ---

struct OptionCheck {
  std::vector<LintFinding> findings;
  std::vector<std::string> corrected;  // the options as they should be, each one or two words
  std::vector<std::string> notes;      // versions that options and values need
};
OptionCheck check_options(const OptionTable& table, const std::vector<GivenOption>& given);

// "/opt/nccl-tests/build/all_reduce_perf" → "all_reduce_perf"
std::string_view program_name(std::string_view word);
// mpirun, mpiexec, srun, torchrun, deepspeed, accelerate, horovodrun; python -m torch.distributed.run or launch.
bool starts_several(const std::vector<std::string>& words);
// The command as a line of shell, its words replaced by `words`; with redirections and what joins it to the next.
std::string written(const ShellCommand& command, const std::vector<std::string>& words);

}  // namespace gradsync
