#include "collectors/host/switch_trace.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "collectors/host/job_threads.h"
#include "collectors/host/sched_parts.h"
#include "collectors/host/ticker.h"
#include "src/base/text.h"

namespace gradsync {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kRingBytes =
    std::size_t{256} * 1024;  // with one page more below the 516 KiB that any user may lock
constexpr std::size_t kLeastRingBytes = std::size_t{16} * 1024;
constexpr int kOpenToAllAt = 2;                // of kernel.perf_event_paranoid; some distributions have levels above
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

void raise_file_limit() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
}

template <class Number>
Number number_at(std::span<const std::byte> bytes, std::size_t at) {
  Number value{};
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

}  // namespace

std::unique_ptr<SwitchTrace> SwitchTrace::prepared(const fs::path& root) {
  std::unique_ptr<SwitchTrace> trace(new SwitchTrace);
  trace->own_pid_ = ::getpid();
  trace->clock_offset_ = perf_clock_offset(root);
  trace->cpus_ = cpus_online(root);
  return trace;
}

// A ring that belongs to the calling thread.
Result<void> SwitchTrace::add_ring(const perf_event_attr& wanted, int cpu) {
  perf_event_attr attributes = wanted;
  const std::string on = "on CPU " + std::to_string(cpu);
  FileDescriptor fd(open_perf_event(attributes, 0, cpu));
  if (!fd) return perf_refusal(kWhat, on, errno, kOpenToAllAt);
  std::optional<PerfPages> pages = PerfPages::map_down(fd.get(), kRingBytes, kLeastRingBytes);
  if (!pages) return pages_refusal(kWhat, on, errno);
  rings_.push_back({std::move(fd), std::move(*pages)});
  return {};
}

Result<std::unique_ptr<SwitchTrace>> SwitchTrace::open(const fs::path& root) {
  std::unique_ptr<SwitchTrace> trace = prepared(root);
  for (const int cpu : trace->cpus_)
    if (const Result<void> added = trace->add_ring(switches(), cpu); !added) return added.error();
  return trace;
}

// The rings are ours, for those of threads that end tell their readers so for ever.
Result<std::unique_ptr<SwitchTrace>> SwitchTrace::open_of(const fs::path& root, std::int64_t pid) {
  std::unique_ptr<SwitchTrace> trace = prepared(root);
  perf_event_attr nothing = switches();
  nothing.inherit = nothing.context_switch = nothing.task = nothing.comm = 0;
  for (const int cpu : trace->cpus_)
    if (const Result<void> added = trace->add_ring(nothing, cpu); !added) return added.error();
  raise_file_limit();
  if (const Result<void> joined = trace->join_tree(root, pid); !joined) return joined.error();
  return trace;
}

// Until a look finds no thread that is new. One that was born meanwhile may tell of itself twice: of two equal records the
// account takes one.
Result<void> SwitchTrace::join_tree(const fs::path& root, std::int64_t pid) {
  constexpr int kMostLooks = 10;
  std::set<std::int64_t> known;
  std::optional<Error> refusal;
  JobThreads job(root, pid, JobThreads::Ancestor::of_it);
  bool more = true;
  for (int look = 0; more && look < kMostLooks; ++look) {
    more = false;
    for (const JobThreads::Thread& thread : job.look()) {
      if (thread.pid == own_pid_ || !known.insert(thread.tid).second) continue;
      more = true;
      const Result<void> joined = join_rings(thread.pid, thread.tid);
      if (joined) continue;
      refused_.insert(thread.tid);
      refusal = joined.error();
    }
  }
  if (refusal && refused_.size() == known.size()) return *refusal;
  return {};
}

Result<void> SwitchTrace::join_rings(std::int64_t pid, std::int64_t tid) {
  if (const Result<std::string> name =
          read_file("/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid) + "/comm", 4096))
    account_.rename(tid, std::string(trim(*name)));
  for (std::size_t i = 0; i < cpus_.size(); ++i) {
    perf_event_attr attributes = switches();
    FileDescriptor fd(open_perf_event(attributes, static_cast<int>(tid), cpus_[i]));
    if (!fd && errno == ESRCH) return {};  // it has ended
    if (!fd || ::ioctl(fd.get(), PERF_EVENT_IOC_SET_OUTPUT, rings_[i].fd.get()) != 0)
      return perf_refusal(kWhat, "thread " + std::to_string(tid), errno, kOpenToAllAt);
    joined_.push_back(std::move(fd));
  }
  return {};
}

SwitchTrace::~SwitchTrace() { stop(); }

Result<void> SwitchTrace::start() {
  window_.first = monotonic_now();
  return reader_.start(kWhat, [this] { run(); });
}

void SwitchTrace::stop() { reader_.stop(); }

std::uint64_t SwitchTrace::lost() const {
  std::uint64_t lost = 0;
  for (const Ring& ring : rings_) lost += ring.pages.lost();
  return lost;
}

std::vector<ThreadSeen> SwitchTrace::threads(std::vector<ThreadWait> sums) const {
  const std::lock_guard lock(mutex_);
  std::vector<ThreadSeen> threads = account_.beside(std::move(sums));
  for (ThreadSeen& thread : threads) thread.preemptions_known = !refused_.contains(thread.wait.tid);
  return threads;
}

void SwitchTrace::run() {
  std::vector<pollfd> fds{{reader_.wake_fd(), POLLIN, 0}};
  for (const Ring& ring : rings_) fds.push_back({ring.fd.get(), POLLIN, 0});
  while (!reader_.stopping()) {
    ::poll(fds.data(), fds.size(), kPollMs);
    const std::lock_guard lock(mutex_);
    drain();
    process_until(monotonic_now() - kHoldBack);
  }
  const std::lock_guard lock(mutex_);
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
  Coverage coverage{"scheduler", "C", CoverageState::partial, "", "run it as root, or with CAP_BPF and CAP_PERFMON", 0};
  coverage.lost = static_cast<std::int64_t>(trace.lost()) + trace.account().dropped();
  coverage.reason = fmt::format(
      "switch records of the job's own threads ({}, {} lost): waits after preemptions are exact, those after wake-ups "
      "are known as sums of /proc schedstat alone",
      trace.records(), coverage.lost);
  if (trace.refused() > 0) coverage.reason += fmt::format("; {} threads could not be watched", trace.refused());
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
