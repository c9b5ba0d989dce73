#include "collectors/fabric/forked_ranks.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>

#include "collectors/fabric/sockets.h"
#include "src/base/file.h"

namespace gradsync {
namespace {

constexpr std::int64_t kFarewellMs = 3000;

// In the child. A rank whose parent has gone meanwhile has nobody to talk to.
void become_a_silent_rank(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  std::signal(SIGINT, SIG_IGN);
  const FileDescriptor nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (nothing) ::dup2(nothing.get(), stream);
}

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    return "was killed by signal " + std::to_string(signal) + " (" + ::strsignal(signal) + ")";
  }
  return "ended with status " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

bool ForkedRanks::reap(Child& child, int options, int& status) {
  pid_t got = 0;
  do got = ::waitpid(child.pid, &status, options);
  while (got < 0 && errno == EINTR);
  if (got == 0) return false;
  child.pid = -1;
  return got > 0;
}

std::optional<std::pair<int, std::string>> ForkedRanks::ended() {
  const std::lock_guard lock(mutex_);
  for (Child& child : children_) {
    int status = 0;
    if (child.pid > 0 && reap(child, WNOHANG, status)) return std::pair(child.rank, how_it_ended(status));
  }
  return std::nullopt;
}

ForkedRanks::~ForkedRanks() {
  const std::lock_guard lock(mutex_);
  const std::int64_t end = monotonic_ns() + kFarewellMs * 1'000'000;
  for (Child& child : children_) {
    int status = 0;
    while (child.pid > 0 && !reap(child, WNOHANG, status) && child.pid > 0) {
      if (monotonic_ns() > end) {
        ::kill(child.pid, SIGKILL);
        reap(child, 0, status);
        break;
      }
      const std::timespec pause{0, 2'000'000};
      ::nanosleep(&pause, nullptr);
    }
  }
}

Result<Forked> fork_ranks(int ranks) {
  Forked forked;
  forked.others.reset(new ForkedRanks());
  const pid_t parent = ::getpid();
  for (int rank = 1; rank < ranks; ++rank) {
    const pid_t pid = ::fork();
    if (pid < 0) return Error{"cannot start", "rank " + std::to_string(rank), errno_text(errno), "", 3};
    if (pid == 0) {
      forked.others->children_.clear();  // they are the parent's
      forked.others.reset();
      forked.rank = rank;
      become_a_silent_rank(parent);
      return forked;
    }
    forked.others->children_.push_back({pid, rank});
  }
  return forked;
}

}  // namespace gradsync
