// A line of shell as simple commands: words, assignments in front, redirections, and what joins them. Pure.
//
//   NCCL_DEBUG=INFO mpirun -np 2 ./all_reduce_perf -g 1 2>&1 | tee "a b.log"
//   └ assignment    └ words …                           └ redirection
//                                                       2 commands, the first followed by |
//
// Nothing is expanded: $VARIABLES, $(commands) and globs stay as they are written. Of compound commands only the words
// remain: `for s in 1K 2K; do CMD; done` is the commands `for s in 1K 2K`, `CMD` and `done`.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/result.h"

namespace gradsync {

struct Redirection {
  std::string operation;  // ">", "2>", ">>", "<", "2>&1", "&>", …
  std::string target;     // empty for those that name a descriptor
};

struct ShellCommand {
  std::vector<std::pair<std::string, std::string>> assignments;
  std::vector<std::string> words;  // without quotes
  std::vector<Redirection> redirections;
  std::string next;  // what follows: "|", "&&", "||", ";", "&", or nothing at the end
};

// `export A=B` counts as an assignment of the commands that follow it. An unclosed quote is an error (exit status 2).
Result<std::vector<ShellCommand>> split_shell(std::string_view text);

// The word as it must be written: quoted where a shell would see more in it than its characters. $NAME stays alive.
std::string shell_word(std::string_view word);

}  // namespace gradsync
