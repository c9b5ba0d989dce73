// A program run to its end with nothing on its stdin and stdout: a question put to another process.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace gradsync {

struct QuietProcess {
  std::vector<std::string> arguments;  // the program first, looked for in PATH
  std::map<std::string, std::string> environment;
  std::chrono::milliseconds limit = std::chrono::seconds(20);  // it is killed then
  const std::atomic<bool>* stop = nullptr;                     // and when this becomes true
  std::string errors = "/dev/null";                            // file for its stderr, which exists
};

// Nothing when it exited with 0, else what happened: "the program exited with 3", the signal, why it could not start.
std::string run_quietly(const QuietProcess& process);

}  // namespace gradsync
