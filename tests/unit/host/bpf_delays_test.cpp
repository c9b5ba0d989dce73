#include "collectors/host/bpf_delays.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

using namespace gradsync;

namespace {

// As the program in the kernel counts.
void add(BpfDelays& delays, BpfU64 ns, BpfU64 at) {
  std::uint32_t bucket = 0;
  while (bucket + 1 < kBpfBuckets && delay_bucket_begin(bucket + 1) <= static_cast<Nanoseconds>(ns)) ++bucket;
  ++delays.buckets[bucket];
  ++delays.count;
  delays.sum += ns;
  if (ns <= delays.longest) return;
  delays.longest = ns;
  delays.longest_at = at;
}

}  // namespace

TEST_CASE("buckets: four for each power of two from 256 ns on") {
  CHECK(delay_bucket_begin(0) == 0);
  CHECK(delay_bucket_begin(1) == 256);
  CHECK(delay_bucket_begin(2) == 320);
  CHECK(delay_bucket_begin(4) == 448);
  CHECK(delay_bucket_begin(5) == 512);
  CHECK(delay_bucket_begin(kBpfBuckets - 1) > 30'000'000'000);
}

TEST_CASE("quantiles lie within an eighth, the mean and the longest are exact") {
  BpfDelays delays{};
  for (BpfU64 i = 1; i <= 10'000; ++i) add(delays, i * 1000, 7 + i);
  ThreadWait wait = unknown_wait("t");
  summarise_delays(delays, wait);
  CHECK(wait.count == 10'000);
  CHECK(std::abs(wait.p50_us - 5000) < 5000 / 8.0);
  CHECK(std::abs(wait.p99_us - 9900) < 9900 / 8.0);
  CHECK(wait.max_us == 10'000);
  CHECK(wait.mean_us == doctest::Approx(5000.5));
}

TEST_CASE("a few delays: the longest alone is where they end") {
  BpfDelays delays{};
  add(delays, 4000, 1);
  add(delays, 2'000'000, 2);
  ThreadWait wait = unknown_wait("t");
  summarise_delays(delays, wait);
  CHECK(wait.p99_us > 1900);
  CHECK(wait.p99_us <= 2000);
  CHECK(wait.p50_us < 1200);

  ThreadWait none = unknown_wait("t");
  summarise_delays(BpfDelays{}, none);
  CHECK(none.count == 0);
  CHECK(std::isnan(none.max_us));
}

TEST_CASE("a thread's totals; moments move to our clock") {
  BpfThread thread{};
  std::strcpy(thread.name, "python3");
  thread.wait = 3'000'000;
  thread.run = 9'000'000;
  thread.runs = 40;
  thread.migrations = 2;
  thread.unseen = 1;
  add(thread.woken, 1'000'000, 500);
  add(thread.preempted, 2'000'000, 0);
  const ThreadSeen seen = seen_of(2341, thread, 1000);
  CHECK(seen.wait.thread == "python3:2341");
  CHECK(seen.wait.tid == 2341);
  CHECK(seen.wait.count == 1);
  CHECK(seen.wait.wait_us == 3000);
  CHECK(seen.wait.run_us == 9000);
  CHECK(seen.wait.migrations == 2);
  CHECK(seen.longest_at == 1500);
  CHECK(seen.preempted.max_us == 2000);
  CHECK(seen.preempted_longest_at == 0);  // never told

  thread.gaps = 3;  // of 40 runs: the sums are not known
  CHECK(std::isnan(seen_of(2341, thread, 0).wait.wait_us));
}

TEST_CASE("records of the ring") {
  BpfHeldUp record{};
  record.start = 100;
  record.end = 200;
  record.cpu = 1;
  record.pid = 7;
  record.tid = 10;
  std::strcpy(record.name, "rank");

  record.kind = kBpfHeldWait;
  record.by = 900;
  std::strcpy(record.by_name, "burn");
  const HeldUp wait = held_up_of(record, 5);
  CHECK(wait.kind == Kind::sched_wait);
  CHECK(wait.thread == "rank");
  CHECK(wait.by == "burn:900");
  CHECK(wait.start == 105);
  CHECK(wait.end == 205);
  record.by = 0;
  CHECK(held_up_of(record, 0).by == "idle");

  record.kind = kBpfHeldIrq;
  std::strcpy(record.by_name, "a-name-of-twenty-chars");
  CHECK(held_up_of(record, 0).kind == Kind::irq);
  CHECK(held_up_of(record, 0).thread == "rank:10");
  CHECK(held_up_of(record, 0).by == "a-name-of-twenty-chars");
  record.kind = kBpfHeldSoftirq;
  record.by = 3;
  CHECK(held_up_of(record, 0).by == "NET_RX");
}
