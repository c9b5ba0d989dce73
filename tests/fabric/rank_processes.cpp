#include "tests/fabric/rank_processes.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <thread>

#include "tests/support/folder.h"

namespace gradsync {
namespace {

using Clock = std::chrono::steady_clock;

struct Child {
  pid_t pid = 0;
  int pipe = -1;
};

[[noreturn]] void be_rank(int rank, RankStore& store, const RankProgram& program, int pipe) {
  signal(SIGABRT, SIG_DFL);  // of the test framework, which would report its own tests as crashed
  const std::string said = program(rank, store);
  std::size_t at = 0;
  while (at < said.size()) {
    const ssize_t written = write(pipe, said.data() + at, said.size() - at);
    if (written <= 0) break;
    at += static_cast<std::size_t>(written);
  }
  _exit(0);
}

Child start(int rank, int ranks, const std::filesystem::path& folder, const RankProgram& program) {
  int ends[2];
  if (pipe(ends) != 0) return {};
  std::fflush(nullptr);
  const pid_t pid = fork();
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // no rank outlives a test that was stopped
    close(ends[0]);
    FileStore store(folder, rank, ranks);
    be_rank(rank, store, program, ends[1]);
  }
  close(ends[1]);
  return {pid, ends[0]};
}

RankEnd finish(const Child& child, Clock::time_point limit) {
  RankEnd end;
  char bytes[4096];
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(limit - Clock::now()).count();
    pollfd readable{child.pipe, POLLIN, 0};
    if (poll(&readable, 1, static_cast<int>(std::max<long>(0, left))) <= 0) {
      kill(child.pid, SIGKILL);
      break;
    }
    const ssize_t got = read(child.pipe, bytes, sizeof(bytes));
    if (got <= 0) break;
    end.said.append(bytes, static_cast<std::size_t>(got));
  }
  close(child.pipe);
  int status = 0;
  waitpid(child.pid, &status, 0);
  end.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return end;
}

}  // namespace

Result<void> FileStore::set(std::string_view key, std::string_view value) {
  const auto path = folder_ / key, draft = folder_ / ("." + std::string(key));
  std::ofstream(draft, std::ios::binary) << value;
  std::error_code error;
  std::filesystem::rename(draft, path, error);
  if (error) return Error{"cannot set", std::string(key), error.message(), ""};
  return {};
}

Result<std::string> FileStore::get(std::string_view key, std::int64_t timeout_ms) {
  const auto limit = Clock::now() + std::chrono::milliseconds(timeout_ms);
  while (true) {
    if (std::ifstream file(folder_ / key, std::ios::binary); file)
      return std::string(std::istreambuf_iterator<char>(file), {});
    if (Clock::now() > limit) return Error{"nobody set", std::string(key), "time-out", ""};
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

Result<std::vector<std::string>> FileStore::exchange(std::string_view round, std::string_view mine,
                                                     std::int64_t timeout_ms) {
  const auto key = [&](int rank) { return std::string(round) + "." + std::to_string(rank); };
  if (auto done = set(key(rank_), mine); !done) return done.error();
  std::vector<std::string> words;
  for (int rank = 0; rank < ranks_; ++rank) {
    auto word = get(key(rank), timeout_ms);
    if (!word) return Error{"rank " + std::to_string(rank) + " is missing", "", "time-out", ""};
    words.push_back(std::move(*word));
  }
  return words;
}

std::vector<RankEnd> run_ranks(int ranks, const RankProgram& program, std::chrono::seconds limit) {
  const test::Folder folder;
  std::vector<Child> children;
  for (int rank = 0; rank < ranks; ++rank) children.push_back(start(rank, ranks, folder.path(), program));
  const auto until = Clock::now() + limit;
  std::vector<RankEnd> ends;
  for (const Child& child : children) ends.push_back(finish(child, until));
  return ends;
}

}  // namespace gradsync
