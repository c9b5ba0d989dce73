#include "collectors/host/sched_trace.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "collectors/host/job_tree.h"
#include "collectors/host/ticker.h"
#include "collectors/host/tracefs.h"
#include "src/base/text.h"
#include "src/hosttext/numbers.h"
#include "src/hosttext/proc_system.h"
#include "src/hosttext/proc_tasks.h"

namespace gradsync {
namespace {

namespace fs = std::filesystem;

constexpr Nanoseconds kHoldBack = 10'000'000;    // CPUs write out of order by less than this
constexpr Nanoseconds kJobLook = 1'000'000'000;  // between looks at who belongs to the job
constexpr int kPollMs = 50;
constexpr double kEventCost = 700;  // ns that a sample costs the thread it is taken in (measured)
constexpr double kCredit = 100e6;   // ns that may be spent before the budget is asked
constexpr int kReaderNice = -10;    // a reader that waits for a CPU loses what it is to measure
constexpr double kLeastCheckedMs = 50;

// The online CPUs: "0-3,8".
std::vector<int> online_cpus(const fs::path& root) {
  std::vector<int> cpus;
  const Result<std::string> text = read_file(root / "sys/devices/system/cpu/online", 65536);
  std::string_view rest = text ? trim(*text) : std::string_view("0");
  while (!rest.empty()) {
    const std::string_view part = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
    const std::size_t dash = part.find('-');
    const auto first = parse_unsigned(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_unsigned(part.substr(dash + 1));
    if (!first || !last || *last > 16384) continue;
    for (std::uint64_t cpu = *first; cpu <= *last; ++cpu) cpus.push_back(static_cast<int>(cpu));
  }
  return cpus;
}

std::optional<SchedStat> read_schedstat(const fs::path& proc, std::int64_t pid, std::int64_t tid) {
  const Result<std::string> text =
      read_file(proc / std::to_string(pid) / "task" / std::to_string(tid) / "schedstat", 4096);
  return text ? parse_schedstat(*text) : std::nullopt;
}

// A number of /proc/ID/status; 0 when it is not there.
std::int64_t status_number(const fs::path& proc, std::int64_t id, std::string_view key) {
  const Result<std::string> text = read_file(proc / std::to_string(id) / "status", 65536);
  const std::size_t at = text ? text->find(key) : std::string::npos;
  if (at == std::string::npos) return 0;
  const std::string_view rest = std::string_view(*text).substr(at + key.size());
  return static_cast<std::int64_t>(parse_unsigned(trim(rest.substr(0, rest.find('\n')))).value_or(0));
}

// In a PID namespace the job's numbers are not those that the tracepoints tell.
std::optional<Error> numbers_differ(const fs::path& root) {
  constexpr std::string_view kInitial = "pid:[4026531836]";  // PROC_PID_INIT_INO of the kernel
  std::error_code error;
  const fs::path space = fs::read_symlink(root / "proc/self/ns/pid", error);
  if (error || space == kInitial) return std::nullopt;
  return Error{"cannot trace the scheduler", "",
               "in a PID namespace (a container) the kernel numbers threads otherwise",
               "run it on the host, or share its PID namespace (--pid=host, hostPID: true)"};
}

}  // namespace

double TraceCoverage::percent() const {
  return counted == 0 ? 100 : 100 * static_cast<double>(seen + lost) / static_cast<double>(counted);
}

std::optional<double> CrossCheck::difference_percent() const {
  if (schedstat_ms < kLeastCheckedMs) return std::nullopt;
  return 100 * (traced_ms - schedstat_ms) / schedstat_ms;
}

SchedTrace::SchedTrace(TraceOptions options, TraceDecoder decoder)
    : options_(std::move(options)),
      decoder_(std::move(decoder)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      account_([this](std::int64_t tid) { return process_of(tid); }),
      seen_(TraceDecoder::names().size()) {}

Result<std::unique_ptr<SchedTrace>> SchedTrace::open(const TraceOptions& options) {
  if (options.ancestor != 0)
    if (const std::optional<Error> error = numbers_differ(options.root)) return *error;
  const auto formats = read_trace_formats(options.root, TraceDecoder::names());
  if (!formats) return formats.error();
  std::optional<TraceDecoder> decoder = TraceDecoder::from(*formats);
  if (!decoder) return Error{"cannot trace the scheduler", "", "this kernel's tracepoints lack fields", ""};
  std::unique_ptr<SchedTrace> trace(new SchedTrace(options, std::move(*decoder)));
  if (const Result<std::string> text = read_file(options.root / "proc/self/timens_offsets", 4096))
    trace->clock_offset_ = parse_monotonic_offset(*text);
  for (const int cpu : online_cpus(options.root)) {
    Result<PerfRing> ring = PerfRing::open(cpu, trace->decoder_.event_ids());
    if (!ring) return ring.error();
    trace->rings_.push_back(std::move(*ring));
  }
  return trace;
}

std::optional<Error> SchedTrace::probe(const fs::path& root) {
  if (std::optional<Error> error = numbers_differ(root)) return error;
  const auto formats = read_trace_formats(root, TraceDecoder::names());
  if (!formats) return formats.error();
  const std::optional<TraceDecoder> decoder = TraceDecoder::from(*formats);
  if (!decoder) return Error{"cannot trace the scheduler", "", "this kernel's tracepoints lack fields", ""};
  const std::vector<int> cpus = online_cpus(root);
  const Result<PerfRing> ring = PerfRing::open(cpus.empty() ? 0 : cpus.front(), decoder->event_ids());
  return ring ? std::nullopt : std::optional(ring.error());
}

SchedTrace::~SchedTrace() { stop(); }

Result<void> SchedTrace::start() {
  began_ = monotonic_now();
  look_at_job();
  switch_on(began_);
  Result<std::thread> started = start_quiet_thread("cannot trace the scheduler", [this] { run(); });
  if (!started) return started.error();
  thread_ = std::move(*started);
  return {};
}

void SchedTrace::stop() {
  stopping_ = true;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t woken = ::write(wake_.get(), &one, sizeof one);
  if (!thread_.joinable()) return;
  thread_.join();
  count();
  // The kernel takes some 40 ms to close each tracepoint: nobody has to wait for that, and at exit it closes the rest.
  try {
    std::thread([rings = std::move(rings_)]() mutable { rings.clear(); }).detach();
  } catch (const std::system_error&) {
    rings_.clear();
  }
}

void SchedTrace::run() {
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), kReaderNice);  // refused without root
  std::vector<pollfd> fds{{wake_.get(), POLLIN, 0}};
  for (const PerfRing& ring : rings_) fds.push_back({ring.poll_fd(), POLLIN, 0});
  Nanoseconds next_look = began_ + kJobLook;
  while (!stopping_) {
    ::poll(fds.data(), fds.size(), kPollMs);
    drain();
    const Nanoseconds now = monotonic_now();
    process_until(now - kHoldBack);
    if (now >= next_look) {
      look_at_job();
      keep_budget(now);
      next_look = now + kJobLook;
    }
  }
  look_at_job();
  switch_off(monotonic_now());
  reader_cpu_ = thread_cpu_now();
}

void SchedTrace::drain() {
  std::uint64_t lost = 0;
  for (PerfRing& ring : rings_) {
    ring.drain([this, cpu = ring.cpu()](Nanoseconds at, std::span<const std::byte> raw) {
      ++events_;
      if (const auto index = decoder_.index_of(raw)) ++seen_[*index];
      std::optional<TraceEvent> event = decoder_.decode(raw);
      if (!event) return;
      event->at = at + clock_offset_;
      event->cpu = cpu;
      pending_.push_back(*event);
    });
    lost += ring.lost_records();
  }
  if (lost == lost_before_) return;
  lost_before_ = lost;
  process_until(monotonic_now());
  const std::lock_guard lock(mutex_);
  account_.lose_sight();
}

void SchedTrace::process_until(Nanoseconds limit) {
  std::stable_sort(pending_.begin(), pending_.end(),
                   [](const TraceEvent& a, const TraceEvent& b) { return a.at < b.at; });
  const auto end =
      std::find_if(pending_.begin(), pending_.end(), [limit](const TraceEvent& event) { return event.at > limit; });
  const std::lock_guard lock(mutex_);
  for (auto event = pending_.begin(); event != end; ++event) {
    if (event->kind == TraceKind::newborn) adopt_newborn(*event);
    account_.add(*event);
  }
  pending_.erase(pending_.begin(), end);
}

// Who belongs to the job now, and how long /proc says that they waited.
void SchedTrace::look_at_job() {
  if (options_.ancestor == 0) return;
  const fs::path proc = options_.root / "proc";
  std::vector<std::int64_t> pids = descendants(proc, options_.ancestor);
  if (options_.with_ancestor) pids.push_back(options_.ancestor);
  const std::lock_guard lock(mutex_);
  pids_.insert(pids.begin(), pids.end());
  for (const std::int64_t pid : pids)
    for (const std::int64_t tid : numbered_folders(proc / std::to_string(pid) / "task")) {
      processes_[tid] = pid;
      const std::optional<SchedStat> stat = on_ ? read_schedstat(proc, pid, tid) : std::nullopt;
      if (!stat) continue;
      const Nanoseconds traced = account_.waits().waited(tid);
      Checked& checked = checked_.try_emplace(tid, Checked{stat->wait, stat->wait, traced, traced}).first->second;
      checked.last_stat = stat->wait;
      checked.last_trace = traced;
    }
}

void SchedTrace::switch_on(Nanoseconds now) {
  on_ = true;
  for (const PerfRing& ring : rings_) ring.enable();
  const std::lock_guard lock(mutex_);
  windows_.emplace_back(now, now);
}

void SchedTrace::switch_off(Nanoseconds now) {
  if (!on_) return;
  on_ = false;
  for (const PerfRing& ring : rings_) ring.disable();
  drain();
  process_until(now + kHoldBack);
  const std::lock_guard lock(mutex_);
  windows_.back().second = now;
  account_.lose_sight();
}

// What the samples cost the job and the reader itself, against the budget so far.
void SchedTrace::keep_budget(Nanoseconds now) {
  {
    const std::lock_guard lock(mutex_);
    if (on_) windows_.back().second = now;
  }
  if (options_.budget_percent <= 0) return;
  const double spent = static_cast<double>(events_) * kEventCost + static_cast<double>(thread_cpu_now());
  const double allowed =
      kCredit + static_cast<double>(now - began_) * static_cast<double>(rings_.size()) * options_.budget_percent * 1e-2;
  if (on_ && spent > allowed) {
    switch_off(now);
    checked_.clear();  // sums over a pause cannot be compared
  }
  // Not before there is something to spend: a window of moments holds no whole step.
  if (!on_ && spent < allowed - kCredit / 2) switch_on(now);
}

// Whether `pid` descends from the job; remembered when it does.
bool SchedTrace::adopt(std::int64_t pid) {
  if (options_.ancestor == 0 || pids_.contains(pid)) return true;
  std::int64_t above = pid;
  for (int depth = 0; depth < 64 && above > 1; ++depth) {
    above = status_number(options_.root / "proc", above, "\nPPid:");
    if (above != options_.ancestor && !pids_.contains(above)) continue;
    pids_.insert(pid);
    return true;
  }
  return false;
}

// A child of the job belongs to it from its first moment, however soon it ends.
void SchedTrace::adopt_newborn(const TraceEvent& event) {
  if (options_.ancestor == 0) return;
  const auto parent = processes_.find(event.current);
  const bool by_job = parent != processes_.end() && pids_.contains(parent->second);
  if (!by_job && event.current != options_.ancestor) return;
  const std::int64_t told = status_number(options_.root / "proc", event.to, "\nTgid:");
  const std::int64_t pid = told > 0 ? told : event.to;              // gone already
  if (pid == options_.ancestor && !options_.with_ancestor) return;  // a thread of our own
  processes_[event.to] = pid;
  pids_.insert(pid);
  checked_.try_emplace(event.to);  // both sums are zero now
}

// 0: of no process of the job.
std::int64_t SchedTrace::process_of(std::int64_t tid) {
  const auto known = processes_.find(tid);
  if (known != processes_.end()) return known->second;
  // A thread younger than the last look.
  const std::int64_t pid = status_number(options_.root / "proc", tid, "\nTgid:");
  return processes_[tid] = pid > 0 && adopt(pid) ? pid : 0;
}

bool SchedTrace::of_job(std::int64_t tid) const {
  if (options_.ancestor == 0) return true;
  const auto process = processes_.find(tid);
  return process != processes_.end() && pids_.contains(process->second);
}

std::vector<ThreadWait> SchedTrace::threads() const {
  const std::lock_guard lock(mutex_);
  std::vector<ThreadWait> threads = account_.waits().all();
  std::erase_if(threads, [this](const ThreadWait& thread) { return !of_job(thread.tid); });
  return threads;
}

std::optional<WaitTails> SchedTrace::tails(std::int64_t tid) const {
  const std::lock_guard lock(mutex_);
  const WaitTails* const tails = account_.tails(tid);
  return tails == nullptr ? std::nullopt : std::optional(*tails);
}

std::vector<IrqTime> SchedTrace::irqs() const {
  const std::lock_guard lock(mutex_);
  return account_.irqs().all();
}

std::vector<HeldUp> SchedTrace::held_up() const {
  const std::lock_guard lock(mutex_);
  std::vector<HeldUp> held = account_.held_up();
  std::erase_if(held, [this](const HeldUp& one) { return !of_job(one.tid); });
  return held;
}

double SchedTrace::seconds() const {
  const std::lock_guard lock(mutex_);
  Nanoseconds sum = 0;
  for (const auto& [start, end] : windows_) sum += end - start;
  return static_cast<double>(sum) * 1e-9;
}

void SchedTrace::count() {
  for (std::size_t i = 0; i < seen_.size(); ++i) coverage_.push_back({TraceDecoder::names()[i], 0, seen_[i], 0});
  for (const PerfRing& ring : rings_) {
    const std::vector<PerfRing::Count> counts = ring.counts();
    for (std::size_t i = 0; i < counts.size(); ++i) {
      coverage_[i].counted += counts[i].counted;
      coverage_[i].lost += counts[i].lost;
    }
  }
}

double SchedTrace::coverage_percent(std::string_view part) const {
  double worst = 100;
  for (const TraceCoverage& one : coverage_)
    if (one.event.starts_with(part)) worst = std::min(worst, one.percent());
  return worst;
}

CrossCheck SchedTrace::cross_check() const {
  const std::lock_guard lock(mutex_);
  CrossCheck check;
  for (const auto& [tid, checked] : checked_) {
    if (checked.last_stat == checked.first_stat) continue;
    ++check.threads;
    check.schedstat_ms += static_cast<double>(checked.last_stat - checked.first_stat) * 1e-6;
    check.traced_ms += static_cast<double>(checked.last_trace - checked.first_trace) * 1e-6;
  }
  return check;
}

}  // namespace gradsync
