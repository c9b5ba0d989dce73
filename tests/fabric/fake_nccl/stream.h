// Streams of the fake: a queue and a thread each, so that nothing is done when a call returns. While a stream captures,
// what is enqueued goes into the capture instead. Events are marks in the queue.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace fake {

using Work = std::function<void()>;

struct Capture {
  std::vector<Work> work;
  std::thread::id owner;
  bool is_valid = true;
};

class Stream {
 public:
  Stream();
  ~Stream();  // when all is done

  void enqueue(Work work);
  void enqueue_mark(Work work);  // an event: takes no time of its own, and is no part of a capture
  std::int64_t work_done() const { return work_done_; }
  bool is_idle();
  void wait();

  bool begin_capture();
  bool is_capturing();
  void invalidate_capture();
  std::optional<Capture> end_capture();

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  struct Entry {
    Work work;
    bool is_mark;
  };
  std::deque<Entry> queue_;
  std::atomic<std::int64_t> work_done_{0};
  std::optional<Capture> capture_;
  bool is_busy_ = false, is_ending_ = false;
  std::thread thread_;
};

// Takes the time, or with GSD_FAKE_CUDA_COUNTED_TIME=1 a millisecond for each operation that the stream has done: what
// is measured is then known exactly.
class Event {
 public:
  void record(Stream& stream);
  bool was_recorded();
  bool is_done();
  std::chrono::steady_clock::time_point time();

 private:
  std::mutex mutex_;
  std::uint64_t asked_ = 0, done_ = 0;
  std::chrono::steady_clock::time_point time_;
};

// The stream that the calling thread captures now, if any: other calls may not disturb it.
Stream* captured_by_this_thread();

// All streams, so that freeing memory can wait for them, and handles can be told from other pointers.
bool is_stream(const void* handle);
void wait_for_all_streams();

}  // namespace fake
