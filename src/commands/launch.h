// Starts the user's command and waits for it, in the way: its stdin, stdout, stderr, process group and terminal are
// ours, Ctrl-C reaches it, signals sent to us alone are passed on, and its status comes back unchanged.
#pragma once

#include <string>
#include <vector>

#include "src/base/result.h"
#include "src/model/collector.h"

namespace gradsync {

struct LaunchOptions {
  std::vector<std::string> command_line;
  Environment environment;
  double linger_seconds = 0;  // after CMD ended: how long to wait for processes it left behind
};

struct LaunchResult {
  int exit_status = 0;  // CMD's own; 128 + n when signal n ended it
  int signal = 0;       // that n, or 0
  double seconds = 0;   // from start to the end of CMD
  int left_behind = 0;  // processes still running when we stopped waiting
};

// Errors: CMD not found (127), not executable (126), fork refused (125); their exit_status says which.
Result<LaunchResult> launch(const LaunchOptions& options);

}  // namespace gradsync
