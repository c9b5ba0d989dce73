#include "collectors/host/perf_ring.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>

namespace gradsync {
namespace {

constexpr std::uint64_t kFormatLost = 1U << 4;  // PERF_FORMAT_LOST, Linux 6.0; older headers lack it

perf_event_attr tracepoint(std::uint64_t id) {
  perf_event_attr attributes{};
  attributes.type = PERF_TYPE_TRACEPOINT;
  attributes.config = id;
  attributes.sample_period = 1;
  attributes.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_RAW;
  attributes.read_format = kFormatLost;
  attributes.disabled = 1;
  attributes.watermark = 1;
  attributes.wakeup_watermark = PerfRing::kBytes / 4;
  attributes.use_clockid = 1;
  attributes.clockid = CLOCK_MONOTONIC;
  return attributes;
}

}  // namespace

Error perf_error(int error, int cpu) {
  constexpr int kOpenToAllAt = -1;  // payloads of tracepoints, of whole CPUs
  return perf_refusal("cannot trace the scheduler on CPU", std::to_string(cpu), error, kOpenToAllAt);
}

Result<PerfRing> PerfRing::open(int cpu, const std::vector<std::uint64_t>& events, std::size_t bytes) {
  PerfRing ring(cpu);
  for (const std::uint64_t id : events) {
    perf_event_attr attributes = tracepoint(id);
    Event event{FileDescriptor(open_perf_event(attributes, -1, cpu)), true};
    if (!event.fd && errno == EINVAL) {
      attributes.read_format = 0;
      event = {FileDescriptor(open_perf_event(attributes, -1, cpu)), false};
    }
    if (!event.fd) return perf_error(errno, cpu);
    if (!ring.events_.empty() && ::ioctl(event.fd.get(), PERF_EVENT_IOC_SET_OUTPUT, ring.poll_fd()) != 0)
      return perf_error(errno, cpu);
    ring.events_.push_back(std::move(event));
    if (ring.pages_) continue;
    std::optional<PerfPages> pages = PerfPages::map_down(ring.poll_fd(), bytes, kBytes);
    if (!pages) return pages_refusal("cannot trace the scheduler on CPU", std::to_string(cpu), errno);
    ring.pages_.emplace(std::move(*pages));
  }
  return ring;
}

void PerfRing::enable() const {
  for (const Event& event : events_) ::ioctl(event.fd.get(), PERF_EVENT_IOC_ENABLE, 0);
}

void PerfRing::disable() const {
  for (const Event& event : events_) ::ioctl(event.fd.get(), PERF_EVENT_IOC_DISABLE, 0);
}

void PerfRing::drain(const Sample& sample) {
  pages_->drain([&sample](const perf_event_header& header, std::span<const std::byte> record) {
    std::uint64_t time = 0;
    std::uint32_t raw_bytes = 0;
    constexpr std::size_t kRaw = sizeof header + sizeof time + sizeof raw_bytes;
    if (header.type != PERF_RECORD_SAMPLE || header.size < kRaw) return;
    std::memcpy(&time, record.data() + sizeof header, sizeof time);
    std::memcpy(&raw_bytes, record.data() + sizeof header + sizeof time, sizeof raw_bytes);
    if (kRaw + raw_bytes <= header.size) sample(static_cast<Nanoseconds>(time), record.subspan(kRaw, raw_bytes));
  });
}

std::vector<PerfRing::Count> PerfRing::counts() const {
  std::vector<Count> counts;
  for (const Event& event : events_) {
    std::uint64_t values[2] = {};
    const ssize_t got = ::read(event.fd.get(), values, event.tells_lost ? sizeof values : sizeof values[0]);
    counts.push_back(got > 0 ? Count{values[0], event.tells_lost ? values[1] : 0} : Count{});
  }
  return counts;
}

}  // namespace gradsync
