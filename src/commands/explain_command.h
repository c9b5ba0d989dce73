// The part of `explain` that judges a command line which somebody typed: --nsys, --nccl-tests, --perf.
#pragma once

#include <string>

#include "src/base/result.h"
#include "src/commands/output.h"

namespace CLI {
class App;
}

namespace gradsync {

struct TypedCommand {
  std::string nsys, nccl_tests, perf;  // at most one of them
  OutputOptions output;                // json and fail_on
  bool given() const { return !nsys.empty() || !nccl_tests.empty() || !perf.empty(); }
};

void declare_typed_command(CLI::App& app, TypedCommand& typed);

// Prints what is wrong and the right command. The exit status, or why nothing could be judged.
Result<int> explain_typed_command(const TypedCommand& typed);

}  // namespace gradsync
