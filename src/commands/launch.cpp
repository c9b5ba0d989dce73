#include "src/commands/launch.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <sstream>

#include "src/base/file.h"
#include "src/commands/exit_status.h"

extern char** environ;

namespace gradsync {
namespace {

using Clock = std::chrono::steady_clock;

volatile sig_atomic_t g_child = 0;
volatile sig_atomic_t g_enough = 0;  // somebody wants us to end

// A signal that the terminal sent to our group reached the child already; one sent to us alone did not.
void pass_on(int number, siginfo_t* info, void*) {
  if (number == SIGINT || number == SIGQUIT || number == SIGTERM || number == SIGHUP) g_enough = 1;
  const bool from_terminal = info->si_code == SI_KERNEL;
  const int interrupted_errno = errno;  // of the call that we came between
  if (g_child > 0 && !from_terminal) ::kill(static_cast<pid_t>(g_child), number);
  errno = interrupted_errno;
}

constexpr std::array kPassedOn{SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGCONT, SIGWINCH};

// What is to be passed on waits until there is a child to pass it to. SIGCHLD ignored (by a shell's trap, a daemon)
// would take the child's status away from us.
class SignalGuard {
 public:
  SignalGuard() {
    struct sigaction action {};
    action.sa_sigaction = pass_on;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigset_t waiting;
    sigemptyset(&waiting);
    for (const int number : kPassedOn) sigaddset(&waiting, number);
    ::pthread_sigmask(SIG_BLOCK, &waiting, &mask_before_);
    for (std::size_t i = 0; i < kPassedOn.size(); ++i) ::sigaction(kPassedOn[i], &action, &before_[i]);
    struct sigaction standard {};
    standard.sa_handler = SIG_DFL;
    ::sigaction(SIGCHLD, &standard, &child_before_);
  }
  SignalGuard(const SignalGuard&) = delete;
  SignalGuard& operator=(const SignalGuard&) = delete;
  ~SignalGuard() { restore(); }

  // In the child, before exec: what the user's shell had set.
  void restore() const {
    for (std::size_t i = 0; i < kPassedOn.size(); ++i) ::sigaction(kPassedOn[i], &before_[i], nullptr);
    ::sigaction(SIGCHLD, &child_before_, nullptr);
    let_through();
  }

  void let_through() const { ::pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr); }

 private:
  std::array<struct sigaction, kPassedOn.size()> before_{};
  struct sigaction child_before_ {};
  sigset_t mask_before_{};
};

[[noreturn]] void become(const LaunchOptions& options, int error_pipe) {
  std::vector<std::string> settings;
  for (const auto& [name, value] : options.environment) settings.push_back(name + "=" + value);
  std::vector<char*> environment, arguments;
  for (std::string& setting : settings) environment.push_back(setting.data());
  environment.push_back(nullptr);
  std::vector<std::string> words = options.command_line;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execvpe(arguments[0], arguments.data(), environment.data());
  const int error = errno;
  [[maybe_unused]] const ssize_t told = ::write(error_pipe, &error, sizeof error);
  ::_exit(exit_status::kNotExecutable);
}

// execvp says "permission denied" of a program that is nowhere, when it may not look into one folder of PATH.
bool on_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "/bin:/usr/bin" : path);
  for (std::string folder; std::getline(folders, folder, ':');)
    if (::access(((folder.empty() ? "." : folder) + "/" + program).c_str(), F_OK) == 0) return true;
  return false;
}

Error start_error(const std::string& program, int error) {
  if (error == EACCES && program.find('/') == std::string::npos && !on_path(program)) error = ENOENT;
  const bool missing = error == ENOENT || error == ENOTDIR;
  Error result{"cannot run", program, errno_text(error), "",
               missing ? exit_status::kNotFound : exit_status::kNotExecutable};
  result.hint = missing ? "check the spelling and PATH; options of the doctor go before --"
                        : "check its permissions and its first line (the interpreter)";
  return result;
}

// Children that CMD left behind became ours (subreaper): waits until all are gone, the time is up, or a signal asks
// for the end.
int wait_for_the_rest(double seconds) {
  const auto until = Clock::now() + std::chrono::duration<double>(seconds);
  for (;;) {
    const pid_t ended = ::waitpid(-1, nullptr, WNOHANG);
    if (ended > 0) continue;
    if (ended < 0) return 0;  // no children are left
    if (Clock::now() >= until || g_enough != 0) break;
    ::usleep(20000);
  }
  return 1;
}

LaunchResult describe(int status) {
  LaunchResult result;
  if (WIFSIGNALED(status)) {
    result.signal = WTERMSIG(status);
    result.exit_status = exit_status::kSignalBase + result.signal;
  } else {
    result.exit_status = WEXITSTATUS(status);
  }
  return result;
}

}  // namespace

Result<LaunchResult> launch(const LaunchOptions& options) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  int pipe_ends[2];
  if (::pipe2(pipe_ends, O_CLOEXEC) != 0)
    return Error{"cannot start", options.command_line.front(), errno_text(errno), "", exit_status::kDoctorFailed};
  FileDescriptor from_child(pipe_ends[0]), to_parent(pipe_ends[1]);
  const auto begin = Clock::now();
  const SignalGuard signals;
  const pid_t child = ::fork();
  if (child < 0)
    return Error{"cannot start", options.command_line.front(), errno_text(errno), "", exit_status::kDoctorFailed};
  if (child == 0) {
    signals.restore();
    become(options, to_parent.get());
  }
  g_child = child;
  signals.let_through();
  to_parent.reset();
  int exec_error = 0;
  ssize_t got = 0;
  do got = ::read(from_child.get(), &exec_error, sizeof exec_error);
  while (got < 0 && errno == EINTR);

  int status = 0;
  for (;;) {
    const pid_t ended = ::waitpid(-1, &status, 0);
    if (ended == child) break;
    if (ended < 0 && errno != EINTR) break;
  }
  g_child = 0;
  g_enough = 0;
  if (got == sizeof exec_error) return start_error(options.command_line.front(), exec_error);
  LaunchResult result = describe(status);
  result.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  result.left_behind = wait_for_the_rest(options.linger_seconds);
  return result;
}

}  // namespace gradsync
