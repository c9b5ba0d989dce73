#include "collectors/host/reader_thread.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

#include "collectors/host/ticker.h"

namespace gradsync {

ReaderThread::ReaderThread() : wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

Result<void> ReaderThread::start(const std::string& what, std::function<void()> body) {
  Result<std::thread> started = start_quiet_thread(what, std::move(body));
  if (!started) return started.error();
  thread_ = std::move(*started);
  return {};
}

bool ReaderThread::stop() {
  stopping_ = true;
  if (!thread_.joinable()) return false;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t woken = ::write(wake_.get(), &one, sizeof one);
  thread_.join();
  return true;
}

}  // namespace gradsync
