#include "collectors/host/sched_trace.h"

#include <poll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "collectors/host/perf_pages.h"
#include "collectors/host/ticker.h"
#include "src/base/text.h"
#include "src/hosttext/numbers.h"
#include "src/hosttext/proc_system.h"
#include "src/hosttext/proc_tasks.h"

namespace gradsync {
namespace {

namespace fs = std::filesystem;

constexpr Nanoseconds kHoldBack = 10'000'000;    // CPUs write out of order by less than this
constexpr Nanoseconds kJobLook = 1'000'000'000;  // between looks at who belongs to the job
constexpr Nanoseconds kFirstLook = 100'000'000;
constexpr int kPollMs = 50;
constexpr double kCredit = 100e6;  // ns that may be spent before the budget is asked
constexpr int kReaderNice = -10;   // a reader that waits for a CPU loses what it is to measure
constexpr double kLeastCheckedMs = 50;

std::optional<SchedStat> read_schedstat(const fs::path& proc, std::int64_t pid, std::int64_t tid) {
  const Result<std::string> text =
      read_file(proc / std::to_string(pid) / "task" / std::to_string(tid) / "schedstat", 4096);
  return text ? parse_schedstat(*text) : std::nullopt;
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

// What neither of the tiers got; of the hints the one for the better.
Error neither(Error rings, const Error& ebpf) {
  rings.why += "; " + ebpf.message();
  if (!ebpf.hint.empty()) rings.hint = ebpf.hint;
  return rings;
}

}  // namespace

double TraceCoverage::percent() const {
  return counted == 0 ? 100 : 100 * static_cast<double>(seen + lost) / static_cast<double>(counted);
}

std::optional<double> CrossCheck::difference_percent() const {
  if (schedstat_ms < kLeastCheckedMs) return std::nullopt;
  return 100 * (traced_ms - schedstat_ms) / schedstat_ms;
}

SchedTrace::SchedTrace(const TraceOptions& options)
    : options_(options), job_(options.root, options.ancestor, options.itself) {}

Result<std::unique_ptr<SchedTrace>> SchedTrace::open(const TraceOptions& options) {
  if (options.ancestor != 0)
    if (const std::optional<Error> error = numbers_differ(options.root)) return *error;
  TierSetting setting{options.root, cpus_online(options.root), 0, options.subject, options.ring_bytes};
  setting.clock_offset = perf_clock_offset(options.root);
  std::unique_ptr<SchedTrace> trace(new SchedTrace(options));
  trace->cpus_ = std::max<std::size_t>(setting.cpus.size(), 1);
  std::optional<Error> above;
  if (options.tier != TierChoice::rings) {
    Result<std::unique_ptr<TraceTier>> tier = open_bpf_tier(setting, trace->job_);
    if (!tier && options.tier == TierChoice::bpf) return tier.error();
    if (tier)
      trace->tier_ = std::move(*tier);
    else
      above = tier.error();
  }
  if (!trace->tier_) {
    Result<std::unique_ptr<TraceTier>> tier = open_ring_tier(setting, trace->job_);
    if (!tier) return above ? neither(tier.error(), *above) : tier.error();
    trace->tier_ = std::move(*tier);
    if (above) trace->why_not_above_ = above->message();
  }
  return trace;
}

Result<SchedTrace::Probed> SchedTrace::probe(const fs::path& root) {
  if (const std::optional<Error> error = numbers_differ(root)) return *error;
  const std::optional<Error> above = probe_bpf_tier(root);
  if (!above) return Probed{"A", ""};
  if (const std::optional<Error> error = probe_ring_tier(root)) return neither(*error, *above);
  return Probed{"B", above->message()};
}

SchedTrace::~SchedTrace() { stop(); }

Result<void> SchedTrace::start() {
  began_ = monotonic_now();
  look_at_job();
  if (const Result<void> on = switch_on(); !on) return on.error();
  return reader_.start("cannot trace the scheduler", [this] { run(); });
}

void SchedTrace::stop() {
  if (!reader_.stop()) return;
  coverage_ = tier_->coverage();
  tier_->close();
}

void SchedTrace::run() {
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), kReaderNice);  // refused without root
  std::vector<pollfd> fds{{reader_.wake_fd(), POLLIN, 0}};
  for (const int fd : tier_->poll_fds()) fds.push_back({fd, POLLIN, 0});
  Nanoseconds next_look = began_ + kFirstLook;
  while (!reader_.stopping()) {
    ::poll(fds.data(), fds.size(), kPollMs);
    tier_->drain();
    const Nanoseconds now = monotonic_now();
    {
      const std::lock_guard lock(mutex_);
      tier_->settle(now - kHoldBack);
    }
    if (now >= next_look) {
      look_at_job();
      keep_budget(now);
      next_look = now + kJobLook;
    }
  }
  look_at_job();
  switch_off();
  reader_cpu_ = thread_cpu_now();
}

// Who belongs to the job now, and how long /proc says that they waited.
void SchedTrace::look_at_job() {
  if (job_.whole_machine()) return;
  const fs::path proc = options_.root / "proc";
  const std::lock_guard lock(mutex_);
  const std::vector<JobThreads::Thread> threads = job_.look();
  tier_->look({job_.pids().begin(), job_.pids().end()});
  for (const auto& [pid, tid] : threads) {
    const std::optional<SchedStat> stat = on_ ? read_schedstat(proc, pid, tid) : std::nullopt;
    if (!stat) continue;
    const Nanoseconds traced = tier_->waited(tid);
    const Checked from_birth{0, stat->wait, 0, traced}, from_now{stat->wait, stat->wait, traced, traced};
    Checked& checked = checked_.try_emplace(tid, looked_ ? from_birth : from_now).first->second;
    checked.last_stat = stat->wait;
    checked.last_trace = traced;
  }
  looked_ = on_;
}

Result<void> SchedTrace::switch_on() {
  const std::lock_guard lock(mutex_);
  const Result<Nanoseconds> begin = tier_->enable();
  if (!begin) return begin.error();
  on_ = true;
  looked_ = windows_.empty() && checked_.empty() && job_.pids().empty();  // nobody is there yet: all will be born in it
  windows_.emplace_back(*begin, *begin);
  return {};
}

void SchedTrace::switch_off() {
  if (!on_) return;
  on_ = false;
  {
    const std::lock_guard lock(mutex_);
    windows_.back().second = tier_->disable();
  }
  tier_->drain();
  const std::lock_guard lock(mutex_);
  tier_->settle(monotonic_now());
  tier_->lose_sight();
}

// What the events cost the job and the reader itself, against the budget so far.
void SchedTrace::keep_budget(Nanoseconds now) {
  {
    const std::lock_guard lock(mutex_);
    if (on_) windows_.back().second = now;
  }
  if (options_.budget_percent <= 0) return;
  const double spent = static_cast<double>(events()) * tier().event_cost + static_cast<double>(thread_cpu_now());
  const double allowed =
      kCredit + static_cast<double>(now - began_) * static_cast<double>(cpus_) * options_.budget_percent * 1e-2;
  if (on_ && spent > allowed) {
    switch_off();
    checked_.clear();  // sums over a pause cannot be compared
  }
  // Not before there is something to spend: a window of moments holds no whole step.
  if (!on_ && spent < allowed - kCredit / 2) {
    [[maybe_unused]] const Result<void> again = switch_on();  // refused: the windows say what was traced
  }
}

std::vector<ThreadSeen> SchedTrace::threads() const {
  const std::lock_guard lock(mutex_);
  return tier_->threads();
}

std::vector<IrqTime> SchedTrace::irqs() const {
  const std::lock_guard lock(mutex_);
  return tier_->irqs();
}

std::vector<HeldUp> SchedTrace::held_up() const {
  const std::lock_guard lock(mutex_);
  return tier_->held_up();
}

std::int64_t SchedTrace::held_dropped() const {
  const std::lock_guard lock(mutex_);
  return tier_->held_dropped();
}

double SchedTrace::seconds() const {
  const std::lock_guard lock(mutex_);
  Nanoseconds sum = 0;
  for (const auto& [start, end] : windows_) sum += end - start;
  return static_cast<double>(sum) * 1e-9;
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
