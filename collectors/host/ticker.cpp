#include "collectors/host/ticker.h"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <system_error>

namespace gradsync {
namespace {

Nanoseconds read_clock(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return Nanoseconds{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

Nanoseconds monotonic_now() { return read_clock(CLOCK_MONOTONIC); }
Nanoseconds thread_cpu_now() { return read_clock(CLOCK_THREAD_CPUTIME_ID); }

// Signals are for the thread that waits for the job and passes them on.
Result<std::thread> start_quiet_thread(const std::string& what, std::function<void()> body) {
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, &before);
  Result<std::thread> thread = Error{what, "", "", ""};
  try {
    thread = std::thread(std::move(body));
  } catch (const std::system_error& refused) {
    thread = Error{what, "", refused.code().message(), ""};
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

Nanoseconds Ticker::pause_after(Nanoseconds cpu, Nanoseconds elapsed, double most_share) {
  const auto wanted = static_cast<Nanoseconds>(static_cast<double>(cpu) / most_share);
  return std::max(kPause, wanted - elapsed);
}

Result<void> Ticker::start(std::function<void()> look, Nanoseconds first_pause) {
  look_ = std::move(look);
  began_ = monotonic_now();
  Result<std::thread> started = start_quiet_thread("cannot watch the host", [this, first_pause] { tick(first_pause); });
  if (!started) return started.error();
  thread_ = std::move(*started);
  return {};
}

void Ticker::tick(Nanoseconds pause) {
  ::pthread_setname_np(::pthread_self(), kName);
  std::unique_lock lock(mutex_);
  for (;;) {
    if (wake_.wait_for(lock, std::chrono::nanoseconds(pause), [this] { return stopping_; })) return;
    lock.unlock();
    look_();
    lock.lock();
    ++looks_;
    cpu_ = thread_cpu_now();
    pause = pause_after(cpu_, monotonic_now() - began_, most_share_);
  }
}

void Ticker::stop() {
  {
    const std::lock_guard lock(mutex_);
    if (!stopping_) ended_ = monotonic_now();
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

double Ticker::cpu_percent() const {
  return ended_ > began_ ? 100 * static_cast<double>(cpu_) / static_cast<double>(ended_ - began_) : 0;
}

}  // namespace gradsync
