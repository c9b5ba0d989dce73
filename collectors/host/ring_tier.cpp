// Tier B: the tracepoints of all CPUs through perf rings, put in order and accounted here.
#include <algorithm>
#include <limits>
#include <system_error>
#include <thread>

#include "collectors/host/perf_pages.h"
#include "collectors/host/perf_ring.h"
#include "collectors/host/sched_account.h"
#include "collectors/host/ticker.h"
#include "collectors/host/trace_tier.h"
#include "collectors/host/tracefs.h"

namespace gradsync {
namespace {

constexpr std::size_t kMostRingBytes = std::size_t{64} << 20;  // of all CPUs together

Error lacks_fields() { return {"cannot trace the scheduler", "", "this kernel's tracepoints lack fields", ""}; }

class RingTier final : public TraceTier {
 public:
  RingTier(TierSetting setting, TraceDecoder decoder, JobThreads& job)
      : setting_(std::move(setting)),
        decoder_(std::move(decoder)),
        job_(job),
        account_([this](std::int64_t tid) { return job_.process_of(tid); }),
        seen_(TraceDecoder::names().size()) {}

  Result<void> open() {
    const std::vector<std::uint64_t> ids = decoder_.event_ids();
    std::vector<std::uint64_t> wanted;
    for (std::size_t i = 0; i < ids.size(); ++i)
      if (setting_.subject != TraceSubject::interrupts || TraceDecoder::names()[i].starts_with("irq/")) {
        wanted_.push_back(i);
        wanted.push_back(ids[i]);
      }
    const bool few = setting_.cpus.size() * PerfRing::kMostBytes <= kMostRingBytes;
    for (const int cpu : setting_.cpus) {
      Result<PerfRing> ring = PerfRing::open(cpu, wanted, few ? PerfRing::kMostBytes : PerfRing::kBytes);
      if (!ring) return ring.error();
      rings_.push_back(std::move(*ring));
    }
    return {};
  }

  Name name() const override { return {"B", "perf rings", 700}; }

  std::vector<int> poll_fds() const override {
    std::vector<int> fds;
    for (const PerfRing& ring : rings_) fds.push_back(ring.poll_fd());
    return fds;
  }

  // The kernel takes its time to switch all of them.
  Result<Nanoseconds> enable() override {
    for (const PerfRing& ring : rings_) ring.enable();
    begin_ = monotonic_now();
    end_ = kNoEnd;
    return begin_;
  }
  Nanoseconds disable() override {
    end_ = monotonic_now();
    for (const PerfRing& ring : rings_) ring.disable();
    count();
    return end_;
  }

  void drain() override {
    lost_records_ = 0;
    for (PerfRing& ring : rings_) {
      ring.drain([this, cpu = ring.cpu()](Nanoseconds at, std::span<const std::byte> raw) {
        ++events_;
        if (const auto index = decoder_.index_of(raw)) ++seen_[*index];
        std::optional<TraceEvent> event = decoder_.decode(raw);
        if (!event) return;
        event->at = at + setting_.clock_offset;
        event->cpu = cpu;
        if (event->at < begin_ || event->at > end_) return;
        pending_.push_back(*event);
      });
      lost_records_ += ring.lost_records();
    }
  }

  void settle(Nanoseconds until) override {
    const bool gap = lost_records_ != lost_before_;
    lost_before_ = lost_records_;
    account_until(gap ? monotonic_now() : until);
    if (gap) account_.lose_sight();
  }

  void look(const std::vector<std::int64_t>&) override {}  // the job is asked as events come
  void lose_sight() override { account_.lose_sight(); }

  // The kernel takes some 40 ms to close each tracepoint: nobody has to wait for that, and at exit it closes the rest.
  void close() override {
    try {
      std::thread([rings = std::move(rings_)]() mutable { rings.clear(); }).detach();
    } catch (const std::system_error&) {
      rings_.clear();
    }
  }

  std::uint64_t events() const override { return events_; }

  std::uint64_t lost() const override {
    std::uint64_t sum = 0;
    for (const TraceCoverage& one : coverage()) sum += one.lost;
    return sum;
  }

  std::vector<TraceCoverage> coverage() const override {
    std::vector<TraceCoverage> all;
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
      const PerfRing::Count count = i < counts_.size() ? counts_[i] : PerfRing::Count{};
      all.push_back({TraceDecoder::names()[wanted_[i]], count.counted, seen_[wanted_[i]], count.lost});
    }
    return all;
  }

  std::vector<ThreadSeen> threads() const override {
    std::vector<ThreadSeen> threads;
    for (ThreadWait& wait : account_.waits().all()) {
      if (!job_.has(wait.tid)) continue;
      ThreadSeen seen{std::move(wait), 0, unknown_wait(""), 0};
      if (const WaitTails* const tails = account_.tails(seen.wait.tid)) {
        seen.longest_at = tails->longest_at;
        seen.preempted_longest_at = tails->preempted_longest_at;
        std::vector<float> delays = tails->preempted_us;
        summarise_delays(delays, seen.preempted);
      }
      threads.push_back(std::move(seen));
    }
    return threads;
  }

  std::vector<IrqTime> irqs() const override { return account_.irqs().all(); }
  Nanoseconds waited(std::int64_t tid) const override { return account_.waits().waited(tid); }

  std::vector<HeldUp> held_up() const override {
    std::vector<HeldUp> held = account_.held_up();
    std::erase_if(held, [this](const HeldUp& one) { return !job_.has(one.tid); });
    return held;
  }
  std::int64_t held_dropped() const override { return account_.held_dropped(); }

 private:
  void account_until(Nanoseconds limit) {
    std::stable_sort(pending_.begin(), pending_.end(),
                     [](const TraceEvent& a, const TraceEvent& b) { return a.at < b.at; });
    const auto end =
        std::find_if(pending_.begin(), pending_.end(), [limit](const TraceEvent& event) { return event.at > limit; });
    for (auto event = pending_.begin(); event != end; ++event) {
      if (event->kind == TraceKind::newborn) job_.born(event->to, event->current);
      account_.add(*event);
    }
    pending_.erase(pending_.begin(), end);
  }

  void count() {
    counts_.assign(wanted_.size(), {});
    for (const PerfRing& ring : rings_) {
      const std::vector<PerfRing::Count> counts = ring.counts();
      for (std::size_t i = 0; i < counts.size(); ++i) {
        counts_[i].counted += counts[i].counted;
        counts_[i].lost += counts[i].lost;
      }
    }
  }

  TierSetting setting_;
  TraceDecoder decoder_;
  JobThreads& job_;
  SchedAccount account_;
  std::vector<PerfRing> rings_;
  std::vector<std::size_t> wanted_;  // which of TraceDecoder::names()
  std::vector<TraceEvent> pending_;
  std::vector<std::uint64_t> seen_;
  std::vector<PerfRing::Count> counts_;
  static constexpr Nanoseconds kNoEnd = std::numeric_limits<Nanoseconds>::max();
  Nanoseconds begin_ = 0, end_ = kNoEnd;
  std::uint64_t events_ = 0, lost_records_ = 0, lost_before_ = 0;
};

Result<TraceDecoder> decoder_of(const std::filesystem::path& root) {
  const auto formats = read_trace_formats(root, TraceDecoder::names());
  if (!formats) return formats.error();
  std::optional<TraceDecoder> decoder = TraceDecoder::from(*formats);
  if (!decoder) return lacks_fields();
  return std::move(*decoder);
}

}  // namespace

Result<std::unique_ptr<TraceTier>> open_ring_tier(const TierSetting& setting, JobThreads& job) {
  Result<TraceDecoder> decoder = decoder_of(setting.root);
  if (!decoder) return decoder.error();
  auto tier = std::make_unique<RingTier>(setting, std::move(*decoder), job);
  if (const Result<void> opened = tier->open(); !opened) return opened.error();
  return std::unique_ptr<TraceTier>(std::move(tier));
}

std::optional<Error> probe_ring_tier(const std::filesystem::path& root) {
  const Result<TraceDecoder> decoder = decoder_of(root);
  if (!decoder) return decoder.error();
  const Result<PerfRing> ring = PerfRing::open(cpus_online(root).front(), decoder->event_ids());
  return ring ? std::nullopt : std::optional(ring.error());
}

}  // namespace gradsync
