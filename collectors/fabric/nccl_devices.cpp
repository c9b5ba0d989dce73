#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "collectors/fabric/cuda_library.h"
#include "collectors/fabric/nccl_backend.h"
#include "collectors/fabric/nccl_library.h"

namespace gradsync {
namespace {

bool look_for_devices() {
  const auto cuda = load_cuda();
  return cuda && load_nccl() && count_devices(*cuda);
}

}  // namespace

bool nccl_has_devices() {
  constexpr auto kLimit = std::chrono::seconds(30);
  const pid_t child = fork();
  if (child < 0) return false;
  if (child == 0) _exit(look_for_devices() ? 0 : 1);
  const auto begin = std::chrono::steady_clock::now();
  int status = 0;
  pid_t ended = 0;
  while ((ended = waitpid(child, &status, WNOHANG)) == 0) {
    if (std::chrono::steady_clock::now() - begin < kLimit) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      continue;
    }
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return false;
  }
  return ended == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace gradsync
