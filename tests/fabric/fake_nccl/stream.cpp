#include "tests/fabric/fake_nccl/stream.h"

#include <algorithm>
#include <set>

#include "tests/fabric/fake_nccl/knobs.h"

namespace fake {
namespace {

struct Streams {
  std::mutex mutex;
  std::set<const void*> all;
};

Streams& streams() {
  static Streams the_streams;
  return the_streams;
}

thread_local Stream* capturing = nullptr;

}  // namespace

Stream::Stream() : thread_([this] { run(); }) {
  const std::lock_guard lock(streams().mutex);
  streams().all.insert(this);
}

Stream::~Stream() {
  {
    const std::lock_guard lock(streams().mutex);
    streams().all.erase(this);
  }
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Stream::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return is_ending_ || !queue_.empty(); });
    if (queue_.empty()) return;
    auto [work, is_mark] = std::move(queue_.front());
    queue_.pop_front();
    is_busy_ = true;
    lock.unlock();
    work();
    work = nullptr;
    if (!is_mark) ++work_done_;
    lock.lock();
    is_busy_ = false;
    changed_.notify_all();
  }
}

void Stream::enqueue(Work work) {
  const std::lock_guard lock(mutex_);
  if (capture_)
    capture_->work.push_back(std::move(work));
  else
    queue_.push_back({std::move(work), false});
  changed_.notify_all();
}

void Stream::enqueue_mark(Work work) {
  const std::lock_guard lock(mutex_);
  queue_.push_back({std::move(work), true});
  changed_.notify_all();
}

bool Stream::is_idle() {
  const std::lock_guard lock(mutex_);
  return queue_.empty() && !is_busy_;
}

void Stream::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return queue_.empty() && !is_busy_; });
}

bool Stream::begin_capture() {
  const std::lock_guard lock(mutex_);
  if (capture_ || capturing) return false;
  capture_.emplace().owner = std::this_thread::get_id();
  capturing = this;
  return true;
}

bool Stream::is_capturing() {
  const std::lock_guard lock(mutex_);
  return capture_.has_value();
}

void Stream::invalidate_capture() {
  const std::lock_guard lock(mutex_);
  if (capture_) capture_->is_valid = false;
}

std::optional<Capture> Stream::end_capture() {
  const std::lock_guard lock(mutex_);
  if (!capture_ || capture_->owner != std::this_thread::get_id()) return std::nullopt;
  capturing = nullptr;
  auto ended = std::move(capture_);
  capture_.reset();
  return ended;
}

void Event::record(Stream& stream) {
  if (stream.is_capturing()) return;  // becomes a dependency of the graph, and is no mark in time
  std::uint64_t mine;
  {
    const std::lock_guard lock(mutex_);
    mine = ++asked_;
  }
  stream.enqueue_mark([this, mine, &stream] {
    const bool is_counted = knob("GSD_FAKE_CUDA_COUNTED_TIME", 0) != 0;
    const std::lock_guard lock(mutex_);
    time_ = is_counted ? std::chrono::steady_clock::time_point(std::chrono::milliseconds(stream.work_done()))
                       : std::chrono::steady_clock::now();
    done_ = mine;
  });
}

bool Event::was_recorded() {
  const std::lock_guard lock(mutex_);
  return asked_ > 0;
}

bool Event::is_done() {
  const std::lock_guard lock(mutex_);
  return done_ == asked_;
}

std::chrono::steady_clock::time_point Event::time() {
  const std::lock_guard lock(mutex_);
  return time_;
}

Stream* captured_by_this_thread() { return capturing; }

bool is_stream(const void* handle) {
  const std::lock_guard lock(streams().mutex);
  return streams().all.contains(handle);
}

void wait_for_all_streams() {
  const std::lock_guard lock(streams().mutex);
  for (const void* handle : streams().all) static_cast<Stream*>(const_cast<void*>(handle))->wait();
}

}  // namespace fake
