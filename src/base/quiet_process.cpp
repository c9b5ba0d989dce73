#include "src/base/quiet_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>

#include "src/base/file.h"

namespace gradsync {
namespace {

using std::chrono::milliseconds;

// With SIGCHLD ignored, as a shell's trap or a daemon leaves it, nobody could say how a child ended.
class ChildStatus {
 public:
  ChildStatus() {
    struct sigaction standard {};
    standard.sa_handler = SIG_DFL;
    ::sigaction(SIGCHLD, &standard, &before_);
  }
  ChildStatus(const ChildStatus&) = delete;
  ChildStatus& operator=(const ChildStatus&) = delete;
  ~ChildStatus() { ::sigaction(SIGCHLD, &before_, nullptr); }

 private:
  struct sigaction before_ {};
};

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status)) return std::string("the program died of signal ") + strsignal(WTERMSIG(status));
  return WEXITSTATUS(status) == 0 ? "" : "the program exited with " + std::to_string(WEXITSTATUS(status));
}

// Waits for `child`; kills it (a process we started) when it takes too long or is not wanted any more.
std::string wait_for(pid_t child, const QuietProcess& process) {
  const auto end = std::chrono::steady_clock::now() + process.limit;
  milliseconds pause(2);
  for (;;) {
    int status = 0;
    const pid_t ended = ::waitpid(child, &status, WNOHANG);
    if (ended == child) return how_it_ended(status);
    if (ended < 0 && errno != EINTR) return errno_text(errno);
    const bool stopped = process.stop != nullptr && *process.stop;
    if (stopped || std::chrono::steady_clock::now() >= end) {
      ::kill(child, SIGKILL);
      ::waitpid(child, nullptr, 0);
      return stopped ? "it was stopped"
                     : fmt::format("the program did not end within {} s", process.limit.count() / 1000);
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, milliseconds(100));
  }
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

std::string run_quietly(const QuietProcess& process) {
  std::vector<std::string> arguments = process.arguments, settings;
  for (const auto& [name, value] : process.environment) settings.push_back(name + "=" + value);
  const std::vector<char*> argument_pointers = pointers_to(arguments), setting_pointers = pointers_to(settings);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO})
    posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, process.errors.c_str(), O_WRONLY, 0);
  const ChildStatus can_be_told;
  pid_t child = -1;
  const int error = ::posix_spawnp(&child, argument_pointers[0], &actions, nullptr, argument_pointers.data(),
                                   setting_pointers.data());
  posix_spawn_file_actions_destroy(&actions);
  return error != 0 ? errno_text(error) : wait_for(child, process);
}

}  // namespace gradsync
