#include "collectors/host/bpf_delays.h"

#include <algorithm>
#include <cstring>

#include "collectors/host/trace_decoder.h"
#include "src/hosttext/numbers.h"

namespace gradsync {
namespace {

constexpr std::uint64_t kRunsToGap = 20;  // as src/hosttext/thread_waits.cpp: with more gaps the sums are not known

template <std::size_t n>
std::string text_of(const char (&characters)[n]) {
  return {characters, ::strnlen(characters, n)};
}

// The delay of a rank, 0 being the shortest: inside a bucket they are taken to lie evenly. The longest is known.
double delay_of_rank(const BpfDelays& delays, std::uint64_t rank) {
  const auto longest = static_cast<double>(delays.longest);
  if (rank + 1 >= delays.count) return longest;
  std::uint64_t before = 0;
  for (std::uint32_t bucket = 0; bucket < kBpfBuckets; ++bucket) {
    const std::uint64_t inside = delays.buckets[bucket];
    if (rank < before + inside) {
      const auto begin = static_cast<double>(delay_bucket_begin(bucket));
      const auto end = static_cast<double>(delay_bucket_begin(bucket + 1));
      const double part = (static_cast<double>(rank - before) + 0.5) / static_cast<double>(inside);
      return std::min(begin + (end - begin) * part, longest);
    }
    before += inside;
  }
  return longest;
}

// Type 7, as src/base/statistics.h.
double quantile_us(const BpfDelays& delays, double q) {
  const double position = q * static_cast<double>(delays.count - 1);
  const auto below = static_cast<std::uint64_t>(position);
  const double low = delay_of_rank(delays, below), high = delay_of_rank(delays, below + 1);
  return (low + (high - low) * (position - static_cast<double>(below))) * 1e-3;
}

}  // namespace

Nanoseconds delay_bucket_begin(std::uint32_t bucket) {
  if (bucket == 0) return 0;
  const std::uint32_t octave = kBpfFirstOctave + (bucket - 1) / 4, quarter = (bucket - 1) % 4;
  return (Nanoseconds{4} + quarter) << (octave - 2);
}

void summarise_delays(const BpfDelays& delays, ThreadWait& wait) {
  wait.count = static_cast<std::int64_t>(delays.count);
  if (delays.count == 0) return;
  wait.p50_us = quantile_us(delays, 0.5);
  wait.p99_us = quantile_us(delays, 0.99);
  wait.max_us = static_cast<double>(delays.longest) * 1e-3;
  wait.mean_us = static_cast<double>(delays.sum) * 1e-3 / static_cast<double>(delays.count);
}

std::string thread_label(const char (&name)[kBpfName], std::int64_t tid) {
  return tid == 0 ? "idle" : text_of(name) + ":" + std::to_string(tid);
}

IrqTime irq_time_of(int softirq, int cpu, const BpfCpu& totals) {
  return {std::string(softirq_name(softirq)),
          "",
          cpu,
          true,
          static_cast<std::int64_t>(totals.soft_count[softirq]),
          static_cast<Nanoseconds>(totals.soft_time[softirq])};
}

IrqTime irq_time_of(const BpfActionKey& key, const BpfActionText& name, int cpu, const BpfActionTime& time) {
  return {std::to_string(key.irq),
          text_of(name.text),
          cpu,
          false,
          static_cast<std::int64_t>(time.count),
          static_cast<Nanoseconds>(time.time)};
}

ThreadSeen seen_of(std::int64_t tid, const BpfThread& thread, Nanoseconds clock_offset) {
  const std::string label = thread_label(thread.name, tid);
  ThreadSeen seen{unknown_wait(label), 0, unknown_wait(label), 0};
  seen.wait.tid = tid;
  summarise_delays(thread.woken, seen.wait);
  summarise_delays(thread.preempted, seen.preempted);
  seen.wait.migrations = thread.migrations;
  seen.wait.unseen = thread.unseen;
  if (thread.gaps * kRunsToGap <= thread.runs) {
    seen.wait.wait_us = to_us(static_cast<Nanoseconds>(thread.wait));
    seen.wait.run_us = to_us(static_cast<Nanoseconds>(thread.run));
  }
  const auto ours = [clock_offset](BpfU64 at) { return at == 0 ? 0 : static_cast<Nanoseconds>(at) + clock_offset; };
  seen.longest_at = ours(thread.woken.longest_at);
  seen.preempted_longest_at = ours(thread.preempted.longest_at);
  return seen;
}

HeldUp held_up_of(const BpfHeldUp& record, Nanoseconds clock_offset) {
  HeldUp held;
  held.pid = record.pid;
  held.tid = record.tid;
  held.cpu = static_cast<int>(record.cpu);
  held.start = static_cast<Nanoseconds>(record.start) + clock_offset;
  held.end = static_cast<Nanoseconds>(record.end) + clock_offset;
  if (record.kind == kBpfHeldWait) {
    char by_name[kBpfName];
    std::memcpy(by_name, record.by_name, sizeof by_name);
    held.thread = text_of(record.name);
    held.by = thread_label(by_name, record.by);
    return held;
  }
  held.kind = record.kind == kBpfHeldIrq ? Kind::irq : Kind::softirq;
  held.thread = thread_label(record.name, held.tid);
  held.by = held.kind == Kind::irq ? text_of(record.by_name)
                                   : std::string(softirq_name(static_cast<std::int32_t>(record.by)));
  return held;
}

}  // namespace gradsync
