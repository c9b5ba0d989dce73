#include "collectors/host/perf_ring.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>

namespace gradsync {
namespace {

constexpr std::uint64_t kFormatLost = 1U << 4;  // PERF_FORMAT_LOST, Linux 6.0; older headers lack it
std::size_t page_bytes() { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

int open_event(perf_event_attr& attributes, int cpu) {
  return static_cast<int>(::syscall(SYS_perf_event_open, &attributes, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC));
}

perf_event_attr tracepoint(std::uint64_t id) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
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
  Error result{"cannot trace the scheduler on CPU", std::to_string(cpu), errno_text(error), ""};
  if (error == EACCES || error == EPERM) {
    result.why = ::geteuid() == 0 ? "refused to root: seccomp or missing capabilities (a container?)"
                                  : "kernel.perf_event_paranoid forbids it to this user";
    result.hint = ::geteuid() == 0 ? "run the container with CAP_PERFMON and perf_event_open allowed"
                                   : "run it as root, or with CAP_PERFMON";
  }
  return result;
}

Result<PerfRing> PerfRing::open(int cpu, const std::vector<std::uint64_t>& events) {
  PerfRing ring(cpu);
  for (const std::uint64_t id : events) {
    perf_event_attr attributes = tracepoint(id);
    Event event{FileDescriptor(open_event(attributes, cpu)), true};
    if (!event.fd && errno == EINVAL) {
      attributes.read_format = 0;
      event = {FileDescriptor(open_event(attributes, cpu)), false};
    }
    if (!event.fd) return perf_error(errno, cpu);
    if (!ring.events_.empty() && ::ioctl(event.fd.get(), PERF_EVENT_IOC_SET_OUTPUT, ring.poll_fd()) != 0)
      return perf_error(errno, cpu);
    ring.events_.push_back(std::move(event));
    if (ring.pages_ != nullptr) continue;
    void* const pages = ::mmap(nullptr, page_bytes() + kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring.poll_fd(), 0);
    if (pages == MAP_FAILED) return perf_error(errno, cpu);  // EPERM: the limit of locked memory
    ring.pages_ = pages;
  }
  return ring;
}

PerfRing::PerfRing(PerfRing&& other) noexcept
    : cpu_(other.cpu_),
      events_(std::move(other.events_)),
      pages_(std::exchange(other.pages_, nullptr)),
      lost_(other.lost_),
      wrapped_(std::move(other.wrapped_)) {}

PerfRing::~PerfRing() {
  if (pages_ != nullptr) ::munmap(pages_, page_bytes() + kBytes);
}

void PerfRing::enable() const {
  for (const Event& event : events_) ::ioctl(event.fd.get(), PERF_EVENT_IOC_ENABLE, 0);
}

void PerfRing::disable() const {
  for (const Event& event : events_) ::ioctl(event.fd.get(), PERF_EVENT_IOC_DISABLE, 0);
}

void PerfRing::drain(const Sample& sample) {
  auto* const page = static_cast<perf_event_mmap_page*>(pages_);
  const std::byte* const data = static_cast<const std::byte*>(pages_) + page_bytes();
  const std::uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
  std::uint64_t tail = page->data_tail;
  while (tail + sizeof(perf_event_header) <= head) {
    perf_event_header header{};
    const std::size_t at = tail % kBytes;  // records begin at multiples of 8: a header is never cut
    std::memcpy(&header, data + at, sizeof header);
    if (header.size < sizeof header || tail + header.size > head) break;
    const std::byte* record = data + at;
    if (at + header.size > kBytes) {
      wrapped_.resize(header.size);
      std::memcpy(wrapped_.data(), record, kBytes - at);
      std::memcpy(wrapped_.data() + (kBytes - at), data, header.size - (kBytes - at));
      record = wrapped_.data();
    }
    std::uint64_t time = 0;
    std::uint32_t raw_bytes = 0;
    constexpr std::size_t kRaw = sizeof header + sizeof time + sizeof raw_bytes;
    if (header.type == PERF_RECORD_SAMPLE && header.size >= kRaw) {
      std::memcpy(&time, record + sizeof header, sizeof time);
      std::memcpy(&raw_bytes, record + sizeof header + sizeof time, sizeof raw_bytes);
      if (kRaw + raw_bytes <= header.size) sample(static_cast<Nanoseconds>(time), {record + kRaw, raw_bytes});
    } else if (header.type == PERF_RECORD_LOST && header.size >= sizeof header + 16) {
      std::uint64_t lost = 0;
      std::memcpy(&lost, record + sizeof header + 8, sizeof lost);
      lost_ += lost;
    }
    tail += header.size;
  }
  __atomic_store_n(&page->data_tail, tail, __ATOMIC_RELEASE);
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
