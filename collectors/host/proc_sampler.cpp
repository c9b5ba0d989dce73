#include "collectors/host/proc_sampler.h"

#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "collectors/host/collisions.h"
#include "collectors/host/host.h"
#include "collectors/host/irq_files.h"
#include "collectors/host/job_tree.h"
#include "collectors/host/numa_places.h"
#include "collectors/host/ticker.h"
#include "src/base/file.h"
#include "src/hosttext/series.h"

namespace gradsync {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSource = "/proc";
constexpr int kMachineEvery = 10;  // looks: /proc/interrupts of a large machine is long

void append(SeriesSet& set, Series series) {
  if (series.rows.empty()) return;
  const auto [known, is_new] = set.try_emplace(series.name, series);
  if (!is_new) known->second.rows.insert(known->second.rows.end(), series.rows.begin(), series.rows.end());
}

// What /proc cannot tell is null, the number of delays included.
Series without_delays(Series series) {
  for (auto& row : series.rows) row[1] = std::numeric_limits<double>::quiet_NaN();
  return series;
}

// "python3:812 on node 0, python3:813 on nodes 0-1": of busy threads, on machines of several nodes.
std::string places_of(const std::vector<CoreThread>& threads, const NumaNodes& nodes) {
  if (nodes.size() < 2) return "";
  std::string text;
  for (const CoreThread& thread : threads)
    if (thread.percent >= kLeastBusyPercent && !thread.allowed.empty())
      text += (text.empty() ? "" : ", ") + thread.name + " on " + nodes_text(thread.allowed, nodes);
  return text;
}

}  // namespace

std::string machine_name() {
  char name[256] = "";
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "";
}

ProcSampler::ProcSampler(const IrqRoots& roots, std::int64_t ancestor, JobThreads::Ancestor itself, Since since)
    : proc_(roots.proc),
      sys_(roots.sys),
      ancestor_(ancestor),
      itself_(itself),
      since_(since),
      live_(roots.live()),
      machine_(roots.live() ? machine_name() : small_text(roots.proc / "sys/kernel/hostname").value_or("")),
      threads_(proc_, since),
      quotas_(proc_, roots.sys / "fs/cgroup") {}

std::vector<std::int64_t> ProcSampler::processes() const {
  if (ancestor_ == 0) return numbered_folders(proc_);
  std::vector<std::int64_t> pids = descendants(proc_, ancestor_);
  if (itself_ == JobThreads::Ancestor::of_it) pids.insert(pids.begin(), ancestor_);
  return pids;
}

void ProcSampler::look_at_machine(Nanoseconds at) {
  last_ = read_host_counters(proc_, at);
  if (looks_ == 0) first_ = last_;
  const TimeStamp stamp{StampKind::epoch, static_cast<double>(at) * 1e-9};
  if (const Result<std::string> text = read_file(proc_ / "interrupts", std::size_t{1} << 26))
    for (InterruptSnapshot& snapshot : parse_interrupts(*text)) {
      snapshot.at = stamp;
      interrupts_.add(snapshot);
    }
  const Result<std::string> text = read_file(proc_ / "softirqs", std::size_t{1} << 22);
  if (std::optional<InterruptSnapshot> snapshot = text ? parse_softirqs(*text) : std::nullopt) {
    snapshot->at = stamp;
    softirqs_.add(*snapshot);
  }
}

void ProcSampler::look(Nanoseconds at) {
  const std::vector<std::int64_t> pids = processes();
  threads_.look(pids);
  quotas_.look(pids);
  look_at_job(pids, at);
  if (looks_ % kMachineEvery == 0) look_at_machine(at);
  ++looks_;
}

// What its CPUs did and what it ran must be of the same moments.
void ProcSampler::look_at_job(const std::vector<std::int64_t>& pids, Nanoseconds at) {
  if (pids.empty() && looks_ > 0) return;
  const Result<std::string> stat = read_file(proc_ / "stat", 1 << 22);
  if (!stat) return;
  job_.last = parse_cpu_ticks(*stat);
  job_.to = at;
  if (!job_.first) job_.first = job_.last, job_.from = at;
  job_.job_run = 0;
  for (const auto& [key, record] : threads_.threads()) job_.job_run += record.run();
}

void ProcSampler::finish(Nanoseconds at) {
  quotas_.look({});
  look_at_machine(at);
}

std::string ProcSampler::stopped() const {
  std::string text;
  int most = 0;
  for (const auto& [key, record] : threads_.threads()) {
    if (record.looks_stopped <= most) continue;
    most = record.looks_stopped;
    text = fmt::format("{}:{} was stopped by a signal in {} of {} looks", record.name, key.second, most, record.looks);
  }
  return text;
}

void ProcSampler::add_threads(RecordingParts& parts) const {
  Coverage coverage{"scheduler",
                    "C",
                    CoverageState::partial,
                    "sums of /proc schedstat: single waits are not seen",
                    live_ ? "run it as root, or with CAP_BPF and CAP_PERFMON" : "",
                    threads_.dropped()};
  if (!live_ && looks_ == 1)
    coverage.reason = "sums of /proc schedstat from each thread's birth on, in one look at files";
  if (threads_.threads().empty()) {
    coverage.state = CoverageState::unavailable;
    coverage.reason = threads_.hidden() > 0 ? "the kernel has no schedstat"
                                            : "the job ended before the first look, or its processes are hidden";
  }
  append(parts.series, without_delays(sched_series(threads_.waits(), kSource)));
  const bool traced = std::any_of(parts.coverage.begin(), parts.coverage.end(),
                                  [](const Coverage& entry) { return entry.source == "scheduler"; });
  if (!traced) parts.coverage.push_back(std::move(coverage));
  if (threads_.threads().empty()) return;
  const std::string text = stopped();
  parts.facts["sched.stopped.kind"] = text.empty() ? "none" : "stopped";
  if (!text.empty()) parts.facts["sched.stopped"] = text;
}

void ProcSampler::add_interrupts(RecordingParts& parts) const {
  Coverage coverage{"interrupts", "C", CoverageState::collected, "counts; the time in handlers is not known", "", 0};
  IrqOrigin origin{"/proc/interrupts", machine_, interrupts_.seconds()};
  if (interrupts_.snapshots() < 2) {
    coverage.state = CoverageState::unavailable;
    coverage.reason = "cannot read /proc/interrupts twice";
  } else {
    append(parts.series, irq_series(interrupts_.between(), origin));
  }
  if (softirqs_.snapshots() >= 2) {
    origin = {"/proc/softirqs", machine_, softirqs_.seconds()};
    Series series = irq_series(softirqs_.between(), origin);
    for (auto& row : series.rows) row[7] = std::string("softirq");
    append(parts.series, std::move(series));
  }
  parts.coverage.push_back(std::move(coverage));
}

// Who shares a core with whom.
void ProcSampler::add_neighbours(RecordingParts& parts) const {
  const double seconds = static_cast<double>(last_.at - first_.at) * 1e-9;
  if (seconds <= 0) return;
  std::vector<CoreThread> threads;
  for (const auto& [key, record] : threads_.threads())
    threads.push_back({record.name + ":" + std::to_string(key.second),
                       parse_cpu_list(record.last_status.cpus_allowed).value_or(CpuList{}),
                       100e-9 * static_cast<double>(record.run()) / seconds});
  if (const std::string text = places_of(threads, read_numa_nodes(sys_)); !text.empty())
    parts.facts["sched.thread_nodes"] = text;
  std::map<std::pair<std::string, int>, double> counts;
  if (interrupts_.snapshots() >= 2)
    for (const InterruptCount& count : interrupts_.between())
      if (count.device) counts[{count.vector.device, count.cpu}] += static_cast<double>(count.count) / seconds;
  std::vector<CoreInterrupts> interrupts;
  for (const auto& [where, per_s] : counts) interrupts.push_back({where.first, where.second, per_s});
  std::map<int, CpuList> cores;
  const fs::path folder = sys_ / "devices/system/cpu";
  for (const int cpu : small_cpu_list(folder / "online").value_or(CpuList{}))
    cores[cpu] =
        small_cpu_list(folder / ("cpu" + std::to_string(cpu)) / "topology/thread_siblings_list").value_or(CpuList{cpu});
  add_collisions(threads, interrupts, cores, machine_, parts);
}

void ProcSampler::add_parts(RecordingParts& parts) const {
  add_threads(parts);
  add_interrupts(parts);
  add_neighbours(parts);
  JobShare job = job_;
  for (const auto& [key, record] : threads_.threads())
    job.cpus = joined(job.cpus, parse_cpu_list(record.last_status.cpus_allowed).value_or(CpuList{}));
  if (last_.at > first_.at) append(parts.series, host_series(first_, last_, quotas_.worst(), job, machine_));
}

namespace {

class ProcSamplerCollector final : public Collector {
 public:
  std::string name() const override { return "host /proc"; }

  std::vector<Coverage> probe(const CollectorContext& context) const override {
    Coverage coverage{name(), "C", CoverageState::collected, "", "", 0};
    std::error_code error;
    if (!fs::exists(context.root / "proc/self/schedstat", error)) {
      coverage.state = CoverageState::unavailable;
      coverage.reason = "no schedstat below /proc: the kernel lacks CONFIG_SCHED_INFO, or /proc is not mounted";
    }
    return {coverage};
  }

  Result<void> start(const CollectorContext& context, Environment&) override {
    sampler_.emplace(IrqRoots{context.root / "proc", context.root / "sys"}, ::getpid(), JobThreads::Ancestor::left_out,
                     Since::birth);
    sampler_->look(monotonic_now());
    return ticker_.start([this] { sampler_->look(monotonic_now()); }, kFirstPause);
  }

  void stop(const CollectorContext&, EventSink&, RecordingParts& parts) override {
    ticker_.stop();
    sampler_->finish(monotonic_now());
    sampler_->add_parts(parts);
    parts.facts["host.sampler_cpu_percent"] = fmt::format("{:.3f}", ticker_.cpu_percent());
  }

 private:
  static constexpr Nanoseconds kFirstPause = 300'000'000;  // a job of less than a second is seen as well
  std::optional<ProcSampler> sampler_;
  Ticker ticker_;
};

}  // namespace

std::unique_ptr<Collector> make_proc_sampler() { return std::make_unique<ProcSamplerCollector>(); }

}  // namespace gradsync
