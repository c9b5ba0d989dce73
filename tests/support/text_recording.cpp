#include "tests/support/text_recording.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "src/commands/recording_parts.h"
#include "src/commands/spool_sink.h"
#include "src/spool_writer/gsd.h"
#include "tests/support/text_events.h"

namespace gradsync::test {
namespace fs = std::filesystem;
namespace {

std::vector<std::string> split_processes(const std::string& text) {
  std::vector<std::string> processes;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("process ") != std::string::npos) processes.emplace_back();
    if (!processes.empty()) processes.back() += line + "\n";
  }
  return processes;
}

void write_process(const fs::path& folder, const std::string& text) {
  const pid_t child = ::fork();
  if (child == 0) {
    SpoolSink sink(folder);
    feed(text, sink);
    if (text.find("clean=1") != std::string::npos) gsd_goodbye();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (status != 0) throw std::runtime_error("the writing child failed");
}

}  // namespace

TextRecording::TextRecording(const std::string& text, const Report& parts) {
  if (!make_recording_folder(folder())) throw std::runtime_error("cannot make " + folder().string());
  for (const std::string& process : split_processes(text)) write_process(folder(), process);
  if (!parts.tool.version.empty() && !write_recording_parts(folder(), parts))
    throw std::runtime_error("cannot write the parts");
}

}  // namespace gradsync::test
