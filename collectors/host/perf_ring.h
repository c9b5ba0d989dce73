// One CPU's ring of tracepoint samples: the first event owns the mapped pages, the others write into it.
//
//   perf_event_open ×N ─▶ a ring of 256 KiB or more ─▶ drain(): {time, raw record}, in the order in which that CPU wrote them
//   read() of each event = how often it came; samples + lost against it tell how much the ring missed silently
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "collectors/host/perf_pages.h"
#include "src/base/file.h"
#include "src/base/result.h"
#include "src/model/event.h"

namespace gradsync {

class PerfRing {
 public:
  static constexpr std::size_t kBytes = std::size_t{256} * 1024, kMostBytes = 8 * kBytes;

  // Events are tracepoint numbers; they start disabled. Time is CLOCK_MONOTONIC. `bytes`, a power of two: what a reader
  // that waits for a CPU does not lose; kBytes where this user may lock no more.
  static Result<PerfRing> open(int cpu, const std::vector<std::uint64_t>& events, std::size_t bytes = kBytes);
  void enable() const;
  void disable() const;
  int cpu() const { return cpu_; }
  int poll_fd() const { return events_.front().fd.get(); }

  using Sample = std::function<void(Nanoseconds at, std::span<const std::byte> raw)>;
  void drain(const Sample& sample);

  struct Count {
    std::uint64_t counted = 0, lost = 0;  // lost: by the kernel's own account; 0 before Linux 6.0
  };
  // By event, in the order given to open.
  std::vector<Count> counts() const;
  std::uint64_t lost_records() const { return pages_->lost(); }  // PERF_RECORD_LOST

 private:
  struct Event {
    FileDescriptor fd;
    bool tells_lost = false;
  };
  explicit PerfRing(int cpu) : cpu_(cpu) {}

  int cpu_;
  std::vector<Event> events_;
  std::optional<PerfPages> pages_;  // there once open() returned
};

// Why perf_event_open or mmap refused, and what would help.
Error perf_error(int error, int cpu);

}  // namespace gradsync
