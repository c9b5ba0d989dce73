#include "collectors/host/switch_trace.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "collectors/host/sched_parts.h"
#include "collectors/host/ticker.h"
#include "src/hosttext/proc_system.h"

namespace gradsync {
namespace {

constexpr std::size_t kRingBytes =
    std::size_t{256} * 1024;                   // with one page more below the 516 KiB that any user may lock
constexpr Nanoseconds kHoldBack = 10'000'000;  // CPUs write out of order by less than this
constexpr int kPollMs = 200;
constexpr const char* kWhat = "cannot record the switches of the job's threads";

perf_event_attr switches() {
  perf_event_attr attributes{};
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_DUMMY;
  attributes.inherit = 1;
  attributes.exclude_kernel = 1;  // what makes it allowed to everybody; switches are recorded all the same
  attributes.exclude_hv = 1;
  attributes.context_switch = 1;
  attributes.task = 1;
  attributes.comm = 1;
  attributes.sample_id_all = 1;
  attributes.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
  attributes.watermark = 1;
  attributes.wakeup_watermark = kRingBytes / 4;
  attributes.use_clockid = 1;
  attributes.clockid = CLOCK_MONOTONIC;
  return attributes;
}

template <class Number>
Number number_at(std::span<const std::byte> bytes, std::size_t at) {
  Number value{};
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

}  // namespace

Result<std::unique_ptr<SwitchTrace>> SwitchTrace::open(const std::filesystem::path& root) {
  std::unique_ptr<SwitchTrace> trace(new SwitchTrace);
  trace->own_pid_ = ::getpid();
  trace->wake_ = FileDescriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (const Result<std::string> text = read_file(root / "proc/self/timens_offsets", 4096))
    trace->clock_offset_ = parse_monotonic_offset(*text);
  for (const int cpu : cpus_online(root)) {
    perf_event_attr attributes = switches();
    FileDescriptor fd(open_perf_event(attributes, 0, cpu));
    const std::string on = "on CPU " + std::to_string(cpu);
    if (!fd) return perf_refusal(kWhat, on, errno);
    std::optional<PerfPages> pages = PerfPages::map(fd.get(), kRingBytes);
    if (!pages) return perf_refusal(kWhat, on, errno);
    trace->rings_.push_back({std::move(fd), std::move(*pages)});
  }
  return trace;
}

SwitchTrace::~SwitchTrace() { stop(); }

Result<void> SwitchTrace::start() {
  window_.first = monotonic_now();
  Result<std::thread> started = start_quiet_thread(kWhat, [this] { run(); });
  if (!started) return started.error();
  thread_ = std::move(*started);
  return {};
}

void SwitchTrace::stop() {
  stopping_ = true;
  if (!thread_.joinable()) return;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t woken = ::write(wake_.get(), &one, sizeof one);
  thread_.join();
}

std::uint64_t SwitchTrace::lost() const {
  std::uint64_t lost = 0;
  for (const Ring& ring : rings_) lost += ring.pages.lost();
  return lost;
}

void SwitchTrace::run() {
  std::vector<pollfd> fds{{wake_.get(), POLLIN, 0}};
  for (const Ring& ring : rings_) fds.push_back({ring.fd.get(), POLLIN, 0});
  while (!stopping_) {
    ::poll(fds.data(), fds.size(), kPollMs);
    drain();
    process_until(monotonic_now() - kHoldBack);
  }
  window_.second = monotonic_now();
  drain();
  process_until(window_.second);
  reader_cpu_ = thread_cpu_now();
}

void SwitchTrace::drain() {
  for (Ring& ring : rings_)
    ring.pages.drain(
        [this](const perf_event_header& header, std::span<const std::byte> record) { take(header, record); });
  if (lost() == lost_before_) return;
  lost_before_ = lost();
  process_until(monotonic_now());
  account_.lose_sight();
}

// Behind each record: pid u32 │ tid u32 │ time u64 │ cpu u32 │ unused u32.
void SwitchTrace::take(const perf_event_header& header, std::span<const std::byte> record) {
  constexpr std::size_t kStamp = 24, kName = 16;
  if (record.size() < sizeof header + kStamp) return;
  if (header.type == PERF_RECORD_COMM && record.size() > kName + kStamp) {
    const char* const name = reinterpret_cast<const char*>(record.data() + kName);
    account_.rename(number_at<std::uint32_t>(record, 12), {name, ::strnlen(name, record.size() - kName - kStamp)});
  }
  if (header.type == PERF_RECORD_FORK)
    account_.born(number_at<std::uint32_t>(record, 16), number_at<std::uint32_t>(record, 20));
  if (header.type != PERF_RECORD_SWITCH) return;
  ++records_;
  const std::size_t at = record.size() - kStamp;
  SwitchRecord seen;
  seen.pid = number_at<std::uint32_t>(record, at);
  seen.tid = number_at<std::uint32_t>(record, at + 4);
  seen.at = static_cast<Nanoseconds>(number_at<std::uint64_t>(record, at + 8)) + clock_offset_;
  seen.cpu = static_cast<int>(number_at<std::uint32_t>(record, at + 16));
  if ((header.misc & PERF_RECORD_MISC_SWITCH_OUT) != 0)
    seen.kind = (header.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) != 0 ? SwitchRecord::Kind::preempted
                                                                         : SwitchRecord::Kind::out;
  if (seen.pid != own_pid_) pending_.push_back(seen);
}

void SwitchTrace::process_until(Nanoseconds limit) {
  std::stable_sort(pending_.begin(), pending_.end(),
                   [](const SwitchRecord& a, const SwitchRecord& b) { return a.at < b.at; });
  const auto end =
      std::find_if(pending_.begin(), pending_.end(), [limit](const SwitchRecord& record) { return record.at > limit; });
  std::for_each(pending_.begin(), end, [this](const SwitchRecord& record) { account_.add(record); });
  pending_.erase(pending_.begin(), end);
}

void add_switch_parts(const SwitchTrace& trace, RecordingParts& parts) {
  Series series = trace.account().series(trace.window().first);
  if (!series.rows.empty()) parts.series["preemptions"] = std::move(series);
  Coverage coverage{"scheduler", "C", CoverageState::partial, "", "run it as root, or with CAP_PERFMON", 0};
  coverage.lost = static_cast<std::int64_t>(trace.lost()) + trace.account().dropped();
  coverage.reason = fmt::format(
      "switch records of the job's own threads ({}, {} lost): waits after preemptions are exact, those after wake-ups "
      "are "
      "known as sums of /proc schedstat alone",
      trace.records(), coverage.lost);
  parts.coverage.push_back(std::move(coverage));
  parts.facts["sched.switch_cpu_ms"] = fmt::format("{:.0f}", static_cast<double>(trace.reader_cpu()) * 1e-6);
}

void write_switches(const SwitchTrace& trace, EventSink& events) {
  constexpr double kMostLost = 0.01;
  const auto lost = static_cast<double>(trace.lost()) + static_cast<double>(trace.account().dropped());
  if (lost > kMostLost * static_cast<double>(trace.records())) return;
  write_stretches(trace.account().held_up(), "switch_records", {trace.window()}, events);
}

}  // namespace gradsync
