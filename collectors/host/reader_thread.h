// A thread that polls and reads until it is told to stop, at once. One owner; start and stop from one thread.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <thread>

#include "src/base/file.h"
#include "src/base/result.h"

namespace gradsync {

class ReaderThread {
 public:
  ReaderThread();
  ReaderThread(const ReaderThread&) = delete;
  ReaderThread& operator=(const ReaderThread&) = delete;
  ~ReaderThread() { stop(); }

  // Signals are not for it. Error: `what`, and why there is no thread.
  Result<void> start(const std::string& what, std::function<void()> body);
  // Waits for its end; whether it ran until now.
  bool stop();

  // For the body: when it is to leave, and a descriptor to poll that is readable then.
  bool stopping() const { return stopping_; }
  int wake_fd() const { return wake_.get(); }

 private:
  std::thread thread_;
  std::atomic<bool> stopping_{false};
  FileDescriptor wake_;
};

}  // namespace gradsync
