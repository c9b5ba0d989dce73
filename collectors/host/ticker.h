// A thread that looks at something once a second, or more seldom when a look is dear: its own CPU time stays below
// a share of one CPU, kMostShare unless told. One owner; start and stop from one thread.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "src/base/result.h"
#include "src/model/event.h"

namespace gradsync {

Nanoseconds monotonic_now();
Nanoseconds thread_cpu_now();

class Ticker {
 public:
  static constexpr double kMostShare = 0.0004;  // of one CPU; two such threads run beside a job
  static constexpr Nanoseconds kPause = 1'000'000'000;
  static constexpr const char* kName = "gsd-look";  // of the thread, as top -H shows it

  explicit Ticker(double most_share = kMostShare) : most_share_(most_share) {}
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;
  ~Ticker() { stop(); }

  // `look` is called by the new thread alone, first after `first_pause`. Signals are not for that thread.
  Result<void> start(std::function<void()> look, Nanoseconds first_pause);
  void stop();

  // After stop.
  int looks() const { return looks_; }
  Nanoseconds cpu() const { return cpu_; }
  double cpu_percent() const;  // of one CPU, from start to stop

  // The pause after looks that cost `cpu` in `elapsed`: 1 s, or until their share is back at `most_share`.
  static Nanoseconds pause_after(Nanoseconds cpu, Nanoseconds elapsed, double most_share = kMostShare);

 private:
  void tick(Nanoseconds pause);

  double most_share_;
  std::function<void()> look_;
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  int looks_ = 0;
  Nanoseconds cpu_ = 0, began_ = 0, ended_ = 0;
};

// Runs `body` in a thread that gets no signals.
Result<std::thread> start_quiet_thread(const std::string& what, std::function<void()> body);

}  // namespace gradsync
