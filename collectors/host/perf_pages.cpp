#include "collectors/host/perf_pages.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

#include "src/base/text.h"
#include "src/hosttext/proc_system.h"

namespace gradsync {
namespace {

std::optional<int> paranoid_now() {
  const Result<std::string> text = read_file("/proc/sys/kernel/perf_event_paranoid", 64);
  int level = 0;
  const std::string_view digits = text ? trim(*text) : std::string_view();
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), level);
  return error == std::errc() && end == digits.data() + digits.size() ? std::optional(level) : std::nullopt;
}

std::size_t page_bytes() { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

}  // namespace

int open_perf_event(perf_event_attr& attributes, int pid, int cpu, int group) {
  attributes.size = sizeof attributes;
  return static_cast<int>(::syscall(SYS_perf_event_open, &attributes, pid, cpu, group, PERF_FLAG_FD_CLOEXEC));
}

PerfDenial perf_denial(unsigned uid, std::optional<int> paranoid, std::optional<int> open_to_all_at) {
  if (uid == 0)
    return {"refused to root: seccomp or missing capabilities (a container?)",
            "run the container with CAP_PERFMON and perf_event_open allowed"};
  if (!paranoid || !open_to_all_at)
    return {"kernel.perf_event_paranoid forbids it to this user", "run it as root, or with CAP_PERFMON"};
  if (*paranoid > *open_to_all_at)
    return {
        "kernel.perf_event_paranoid is " + std::to_string(*paranoid) + ", which forbids it to this user",
        "run it as root or with CAP_PERFMON, or: sysctl kernel.perf_event_paranoid=" + std::to_string(*open_to_all_at)};
  return {
      "kernel.perf_event_paranoid allows it, and the kernel refuses: another user's process, or seccomp (a container?)",
      "run it as that user, as root, or with CAP_PERFMON"};
}

Error pages_refusal(std::string what, std::string on, int error) {
  Error refused{std::move(what), std::move(on), errno_text(error), ""};
  if (error != EPERM) return refused;
  refused.why = "its pages are more memory than this user may lock";
  refused.hint = "ulimit -l, or: sysctl kernel.perf_event_mlock_kb=2048";
  return refused;
}

Error perf_refusal(std::string what, std::string on, int error, std::optional<int> open_to_all_at) {
  Error refused{std::move(what), std::move(on), errno_text(error), ""};
  switch (error) {
    case EACCES:
    case EPERM: {
      PerfDenial denied = perf_denial(::geteuid(), paranoid_now(), open_to_all_at);
      refused.why = std::move(denied.why);
      refused.hint = std::move(denied.hint);
      break;
    }
    case ENOENT:
    case EOPNOTSUPP:
    case ENODEV:
      refused.why = "this machine has no such counter: a virtual machine without a PMU, or another processor";
      break;
    case EINVAL:
      refused.why = "the processor or the kernel does not know this event, or not with these options";
      break;
    case EMFILE:
      refused.why = "too many open files";
      refused.hint = "ulimit -n";
      break;
    case EBUSY:
      refused.why = "another user holds the counter alone: a profiler, or the NMI watchdog";
      refused.hint = "sysctl kernel.nmi_watchdog=0 while it is measured";
      break;
    default:
      break;
  }
  return refused;
}

CpuList cpus_online(const std::filesystem::path& root) {
  const Result<std::string> text = read_file(root / "sys/devices/system/cpu/online", 65536);
  const std::optional<CpuList> cpus = text ? parse_cpu_list(trim(*text)) : std::nullopt;
  return cpus && !cpus->empty() ? *cpus : CpuList{0};
}

Nanoseconds perf_clock_offset(const std::filesystem::path& root) {
  const Result<std::string> text = read_file(root / "proc/self/timens_offsets", 4096);
  return text ? parse_monotonic_offset(*text) : 0;
}

std::optional<PerfPages> PerfPages::map(int fd, std::size_t bytes) {
  void* const pages = ::mmap(nullptr, page_bytes() + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  return pages == MAP_FAILED ? std::nullopt : std::optional(PerfPages(pages, bytes));
}

std::optional<PerfPages> PerfPages::map_down(int fd, std::size_t most, std::size_t least) {
  for (std::size_t bytes = most; bytes > least; bytes /= 4)
    if (std::optional<PerfPages> pages = map(fd, bytes)) return pages;
  return map(fd, least);
}

PerfPages::PerfPages(PerfPages&& other) noexcept
    : pages_(std::exchange(other.pages_, nullptr)),
      bytes_(other.bytes_),
      lost_(other.lost_),
      wrapped_(std::move(other.wrapped_)) {}

PerfPages::~PerfPages() {
  if (pages_ != nullptr) ::munmap(pages_, page_bytes() + bytes_);
}

void PerfPages::drain(const Record& record) {
  auto* const page = static_cast<perf_event_mmap_page*>(pages_);
  const std::byte* const data = static_cast<const std::byte*>(pages_) + page_bytes();
  const std::uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
  std::uint64_t tail = page->data_tail;
  while (tail + sizeof(perf_event_header) <= head) {
    perf_event_header header{};
    const std::size_t at = tail % bytes_;  // records begin at multiples of 8: a header is never cut
    std::memcpy(&header, data + at, sizeof header);
    if (header.size < sizeof header || tail + header.size > head) break;
    const std::byte* bytes = data + at;
    if (at + header.size > bytes_) {
      wrapped_.resize(header.size);
      std::memcpy(wrapped_.data(), bytes, bytes_ - at);
      std::memcpy(wrapped_.data() + (bytes_ - at), data, header.size - (bytes_ - at));
      bytes = wrapped_.data();
    }
    if (header.type == PERF_RECORD_LOST && header.size >= sizeof header + 16) {
      std::uint64_t lost = 0;
      std::memcpy(&lost, bytes + sizeof header + 8, sizeof lost);
      lost_ += lost;
    } else {
      record(header, {bytes, header.size});
    }
    tail += header.size;
  }
  __atomic_store_n(&page->data_tail, tail, __ATOMIC_RELEASE);
}

}  // namespace gradsync
