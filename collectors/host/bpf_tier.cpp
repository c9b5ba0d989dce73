// Tier A: the totals that collectors/host/bpf/sched.bpf.c keeps in the kernel, and what comes through its ring.
#include <bpf/libbpf.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#include "collectors/host/bpf_delays.h"
#include "collectors/host/bpf_program.h"
#include "collectors/host/bpf_switch.h"
#include "collectors/host/ticker.h"
#include "collectors/host/trace_decoder.h"

namespace gradsync {
namespace {

constexpr const char* kEvents[kBpfPrograms] = {
    "sched/sched_switch",   "sched/sched_waking", "sched/sched_wakeup_new", "irq/irq_handler_entry",
    "irq/irq_handler_exit", "irq/softirq_entry",  "irq/softirq_exit"};

constexpr Nanoseconds kNever = std::numeric_limits<Nanoseconds>::max();

struct FreeRing {
  void operator()(ring_buffer* ring) const { ::ring_buffer__free(ring); }
};

class BpfTier final : public TraceTier {
 public:
  BpfTier(BpfProgram program, Nanoseconds clock_offset)
      : program_(std::move(program)),
        clock_offset_(clock_offset),
        threads_(program_.map("threads")),
        preemptors_(program_.map("preemptors")),
        job_(program_.map("job")),
        actions_(program_.map("actions")),
        action_names_(program_.map("action_names")),
        cpus_(program_.map("cpus")),
        ring_(::ring_buffer__new(program_.map("held").fd(), take, this, nullptr)) {}

  bool has_ring() const { return ring_ != nullptr; }

  Name name() const override { return {"A", "eBPF", 280}; }
  std::vector<int> poll_fds() const override { return {}; }  // the ring wakes nobody: it is looked into by the clock
  Result<Nanoseconds> enable() override {
    if (const Result<void> attached = program_.attach(); !attached) return attached.error();
    return monotonic_now();
  }
  Nanoseconds disable() override {
    const Nanoseconds now = monotonic_now();
    program_.detach();
    return now;
  }
  void close() override { program_.detach(); }
  void lose_sight() override {}  // each time it is attached it begins anew

  void drain() override { ::ring_buffer__consume(ring_.get()); }

  void settle(Nanoseconds) override {
    for (HeldUp& held : fresh_) {
      if (held_.size() < kMostHeldUp)
        held_.push_back(std::move(held));
      else
        ++overflowed_;
    }
    fresh_.clear();
  }

  // Children of these are found in the kernel as they are born.
  void look(const std::vector<std::int64_t>& pids) override {
    const BpfU32 yes = 1;
    for (const std::int64_t pid : pids) {
      const auto key = static_cast<BpfU32>(pid);
      job_.put(&key, &yes);
    }
  }

  std::uint64_t events() const override {
    const BpfCpu all = sums();
    std::uint64_t sum = 0;
    for (const BpfU64 events : all.events) sum += events;
    return sum;
  }

  std::uint64_t lost() const override {
    std::uint64_t sum = 0;
    for (const TraceCoverage& one : coverage()) sum += one.counted - one.seen;
    return sum;
  }

  std::vector<TraceCoverage> coverage() const override {
    const BpfCpu all = sums();
    std::vector<TraceCoverage> coverage;
    for (std::size_t i = 0; i < kBpfPrograms; ++i) {
      const auto part = static_cast<BpfPart>(i);
      if (!program_.has(part)) continue;
      const BpfU64 seen = all.events[i] - std::min(all.events[i], all.unplaced[i]);
      coverage.push_back({kEvents[i], all.events[i] + program_.missed(part), seen, 0});
    }
    return coverage;
  }

  std::vector<ThreadSeen> threads() const override {
    std::map<BpfU32, std::pair<BpfU64, std::string>> worst;  // who took most from a thread
    preemptors_.each<BpfPreemptorKey, BpfPreemptor>([&](const BpfPreemptorKey& key, const BpfPreemptor& one) {
      auto& [most, by] = worst[key.tid];
      if (one.wait <= most) return;
      most = one.wait;
      by = thread_label(one.name, key.by);
    });
    std::vector<ThreadSeen> threads;
    threads_.each<BpfU32, BpfThread>([&](BpfU32 tid, const BpfThread& thread) {
      threads.push_back(seen_of(tid, thread, clock_offset_));
      if (const auto by = worst.find(tid); by != worst.end()) threads.back().wait.preempted_by = by->second.second;
    });
    const auto known = [](const ThreadSeen& one) { return std::isnan(one.wait.wait_us) ? -1 : one.wait.wait_us; };
    std::sort(threads.begin(), threads.end(), [&](const ThreadSeen& a, const ThreadSeen& b) {
      return known(a) != known(b) ? known(a) > known(b) : a.wait.thread < b.wait.thread;
    });
    return threads;
  }

  std::vector<IrqTime> irqs() const override {
    std::vector<IrqTime> times;
    const std::vector<BpfCpu> cpus = cpus_.of_all_cpus<BpfCpu>();
    for (std::size_t cpu = 0; cpu < cpus.size(); ++cpu)
      for (int vector = 0; vector < kBpfSoftirqs; ++vector)
        if (cpus[cpu].soft_count[vector] > 0) times.push_back(irq_time_of(vector, static_cast<int>(cpu), cpus[cpu]));
    actions_.each_of_all_cpus<BpfActionKey, BpfActionTime>(
        [&](const BpfActionKey& key, std::size_t cpu, const BpfActionTime& time) {
          if (time.time == 0) return;
          BpfActionText name{};
          action_names_.get(&key, &name);
          times.push_back(irq_time_of(key, name, static_cast<int>(cpu), time));
        });
    return times;
  }

  Nanoseconds waited(std::int64_t tid) const override {
    const auto key = static_cast<BpfU32>(tid);
    BpfThread thread{};
    return threads_.get(&key, &thread) ? static_cast<Nanoseconds>(thread.wait) : 0;
  }

  std::vector<HeldUp> held_up() const override { return held_; }
  std::int64_t held_dropped() const override { return overflowed_ + static_cast<std::int64_t>(sums().held_dropped); }

 private:
  static int take(void* self, void* data, std::size_t size) {
    auto* const tier = static_cast<BpfTier*>(self);
    BpfHeldUp record;
    if (size < sizeof record) return 0;
    std::memcpy(&record, data, sizeof record);
    tier->fresh_.push_back(held_up_of(record, tier->clock_offset_));
    return 0;
  }

  // Of all CPUs, what is counted.
  BpfCpu sums() const {
    BpfCpu all{};
    for (const BpfCpu& cpu : cpus_.of_all_cpus<BpfCpu>()) {
      for (std::size_t i = 0; i < kBpfPrograms; ++i) {
        all.events[i] += cpu.events[i];
        all.unplaced[i] += cpu.unplaced[i];
      }
      all.held_dropped += cpu.held_dropped;
    }
    return all;
  }

  BpfProgram program_;
  Nanoseconds clock_offset_;
  BpfMap threads_, preemptors_, job_, actions_, action_names_, cpus_;
  std::unique_ptr<ring_buffer, FreeRing> ring_;
  std::vector<HeldUp> fresh_;  // the reader's
  std::vector<HeldUp> held_;
  std::int64_t overflowed_ = 0;
};

}  // namespace

Result<std::unique_ptr<TraceTier>> open_bpf_tier(const TierSetting& setting, const JobThreads& job) {
  if (std::optional<Error> error = probe_bpf_tier(setting.root)) return std::move(*error);
  // Single waits are for the join with a job's steps: of a whole machine none is told.
  const bool all = job.whole_machine();
  BpfConfig config{all ? 0U : 1U,
                   static_cast<BpfU32>(job.ancestor()),
                   static_cast<BpfU64>(all ? kNever : kLeastWait),
                   static_cast<BpfU64>(all ? kNever : kLeastIrq),
                   0,
                   0};
  if (setting.subject != TraceSubject::interrupts) {
    const Result<SwitchArguments> arguments = running_switch_arguments();
    if (!arguments) return arguments.error();
    config.switch_tells_state = *arguments == SwitchArguments::with_state ? 1 : 0;
  }
  Result<BpfProgram> program = BpfProgram::load(config, setting.subject, setting.ring_bytes);
  if (!program) return program.error();
  auto tier = std::make_unique<BpfTier>(std::move(*program), setting.clock_offset);
  if (!tier->has_ring()) return Error{"cannot use eBPF", "", "its ring cannot be mapped: " + errno_text(errno), ""};
  return std::unique_ptr<TraceTier>(std::move(tier));
}

}  // namespace gradsync
