#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "collectors/attach/attach.h"
#include "src/base/file.h"

namespace gradsync {
namespace {

constexpr int kProbeSeconds = 20;

bool looks_like_python(const std::string& program) {
  return std::filesystem::path(program).filename().string().starts_with("python");
}

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

// Waits for `child`; kills it (a process we started) when it takes too long.
std::string wait_for(pid_t child) {
  for (int tenths = 0; tenths < kProbeSeconds * 10; ++tenths) {
    int status = 0;
    const pid_t ended = ::waitpid(child, &status, WNOHANG);
    if (ended == child) {
      if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return "";
      if (WIFSIGNALED(status)) return std::string("the program died of signal ") + strsignal(WTERMSIG(status));
      return "the program exited with " + std::to_string(WEXITSTATUS(status));
    }
    if (ended < 0) return errno_text(errno);
    ::usleep(tenths < 5 ? 2000 : 100000);
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  return "the program did not end within " + std::to_string(kProbeSeconds) + " s";
}

}  // namespace

std::string probe_program(const std::vector<std::string>& command_line) {
  if (!command_line.empty() && looks_like_python(command_line.front())) return command_line.front();
  return "/bin/true";
}

std::string run_quietly(std::vector<std::string> arguments, const Environment& environment) {
  std::vector<std::string> settings;
  for (const auto& [name, value] : environment) settings.push_back(name + "=" + value);
  std::vector<char*> environment_pointers, argument_pointers;
  for (std::string& setting : settings) environment_pointers.push_back(setting.data());
  environment_pointers.push_back(nullptr);
  for (std::string& argument : arguments) argument_pointers.push_back(argument.data());
  argument_pointers.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
  const ChildStatus can_be_told;
  pid_t child = -1;
  const int error = ::posix_spawnp(&child, argument_pointers[0], &actions, nullptr, argument_pointers.data(),
                                   environment_pointers.data());
  posix_spawn_file_actions_destroy(&actions);
  return error != 0 ? errno_text(error) : wait_for(child);
}

std::string try_environment(const std::string& program, const Environment& environment) {
  std::vector<std::string> arguments{program};
  if (looks_like_python(program)) arguments.insert(arguments.end(), {"-c", "pass"});
  // A folder that is not there: the try leaves no greeting in the job's recording.
  Environment without = environment;
  if (without.contains("GSD_RECORDING")) without["GSD_RECORDING"] += "/none";
  const std::string with = run_quietly(arguments, without);
  if (with.empty()) return "";
  // What fails without our variables too is the job's own trouble: exec will say so.
  for (const char* ours : {"PYTHONPATH", "NVTX_INJECTION64_PATH", "GSD_RECORDING", "NCCL_PROFILER_PLUGIN"})
    without.erase(ours);
  // Of the preloaded ones only ours, which comes first.
  const std::string library = without.contains("GSD_LIBRARY") ? without["GSD_LIBRARY"] : "";
  if (const auto preload = without.find("LD_PRELOAD"); preload != without.end() && !library.empty()) {
    if (preload->second == library)
      without.erase(preload);
    else if (preload->second.starts_with(library + ":"))
      preload->second.erase(0, library.size() + 1);
  }
  return run_quietly(arguments, without).empty() ? with : "";
}

}  // namespace gradsync
