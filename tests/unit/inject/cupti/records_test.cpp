// Decoding by the oldest prefix, buffers, and the plan of windows: what is pure of the CUPTI collector.
#include "collectors/inject/cupti/records.h"

#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "collectors/inject/cupti/buffers.h"
#include "collectors/inject/cupti/calls.h"
#include "collectors/inject/cupti/events.h"
#include "collectors/inject/cupti/plan.h"

using namespace gradsync::cupti;
using gradsync::spool::Kind;

namespace {

constexpr ClockWindow kClock{100, 1000, 9000};

template <typename Record>
Decoded decoded(const Record& record, Activity& activity, const ClockWindow& clock = kClock) {
  return decode(reinterpret_cast<const ActivityRecord*>(&record), clock, activity);
}

KernelRecord some_kernel(uint64_t start, uint64_t end) {
  KernelRecord record;
  std::memset(&record, 0, sizeof record);
  record.kind = ActivityKind::concurrent_kernel;
  record.start = start;
  record.end = end;
  record.name = "k";
  return record;
}

}  // namespace

TEST_CASE("a kernel's record gives its times, place and shape") {
  KernelRecord record = some_kernel(2000, 3000);
  record.device = 3;
  record.stream = 21;
  record.correlation = 77;
  record.registers_per_thread = 40;
  record.grid[0] = 10, record.grid[1] = 2, record.grid[2] = 1;
  record.block[0] = 64, record.block[1] = 2, record.block[2] = 1;
  record.static_shared_memory = 100, record.dynamic_shared_memory = 28;
  Activity activity;
  REQUIRE(decoded(record, activity) == Decoded::event);
  CHECK(activity.kind == Kind::kernel);
  CHECK(std::string(activity.name) == "k");
  CHECK(activity.start_ns == 2100);
  CHECK(activity.end_ns == 3100);
  CHECK(activity.device == 3);
  CHECK(activity.stream == 21);
  CHECK(activity.correlation == 77);
  CHECK(activity.blocks == 20);
  CHECK(activity.block_threads == 128);
  CHECK(activity.registers == 40);
  CHECK(activity.shared_bytes == 128);
}

TEST_CASE("times that cannot be are no event") {
  struct {
    uint64_t start, end;
    Decoded expected;
  } const cases[] = {
      {0, 0, Decoded::bad},          // the device's buffer ran over
      {0, 3000, Decoded::bad},       //
      {3000, 2999, Decoded::bad},    //
      {3000, 3000, Decoded::event},  // shorter than the clock's tick
      {899, 3000, Decoded::bad},     // before the window
      {900, 3000, Decoded::event},   //
      {3000, 8900, Decoded::event},  //
      {3000, 8901, Decoded::bad},    // has not been yet
      {UINT64_MAX - 50, UINT64_MAX - 10, Decoded::bad},
  };
  for (const auto& one : cases) {
    CAPTURE(one.start);
    CAPTURE(one.end);
    Activity activity;
    CHECK(decoded(some_kernel(one.start, one.end), activity) == one.expected);
  }
}

TEST_CASE("of calls only launches and waits count, and of synchronisations only the host's") {
  Activity activity;
  ApiRecord call{ActivityKind::runtime, 211, 2000, 3000, 1, 4711, 5, 0};
  REQUIRE(decoded(call, activity) == Decoded::event);
  CHECK(activity.kind == Kind::host_call);
  CHECK(std::string(activity.name) == "cudaLaunchKernel");
  CHECK(activity.thread == 4711);
  CHECK(activity.correlation == 5);
  call.call = 131;
  REQUIRE(decoded(call, activity) == Decoded::event);
  CHECK(activity.kind == Kind::host_sync);
  call.call = 10;  // cudaGetLastError
  CHECK(decoded(call, activity) == Decoded::ignored);
  call.kind = ActivityKind::driver;
  call.call = 211;  // a number means another call there
  CHECK(decoded(call, activity) == Decoded::ignored);

  SynchronizationRecord wait{ActivityKind::synchronization, 4, 2000, 3000, 5, 1, 7, 0};
  REQUIRE(decoded(wait, activity) == Decoded::event);
  CHECK(activity.kind == Kind::host_sync);
  wait.type = 2;
  CHECK(decoded(wait, activity) == Decoded::ignored);
}

TEST_CASE("graphs, overhead, and kinds of no interest") {
  Activity activity;
  const GraphTraceRecord graph{ActivityKind::graph_trace, 5, 2000, 3000, 0, 12, 1, 7};
  REQUIRE(decoded(graph, activity) == Decoded::event);
  CHECK(activity.kind == Kind::kernel);
  CHECK(activity.graph == 13);
  OverheadRecord overhead{ActivityKind::overhead, 1, 2, {0, 0, 0}, 2000, 2500};
  REQUIRE(decoded(overhead, activity) == Decoded::overhead);
  CHECK(activity.end_ns - activity.start_ns == 500);
  overhead.kind = ActivityKind{12};  // MARKER
  CHECK(decoded(overhead, activity) == Decoded::ignored);
}

TEST_CASE("copies are named as the framework's profiler names them") {
  char text[kCopyNameBytes];
  copy_name(1, 1, 3, text);
  CHECK(std::string(text) == "Memcpy HtoD (Pageable -> Device)");
  copy_name(8, 3, 3, text);
  CHECK(std::string(text) == "Memcpy DtoD (Device -> Device)");
  copy_name(200, 200, 200, text);
  CHECK(std::string(text) == "Memcpy  (Unknown -> Unknown)");
  copy_name(10, 7, 7, text);
  CHECK(std::strlen(text) < kCopyNameBytes);
}

TEST_CASE("lanes of streams keep devices apart and stay below the bits of the timeline") {
  CHECK(stream_lane(0, 7) != stream_lane(1, 7));
  CHECK((stream_lane(1000, 100000) & ~gradsync::spool::kLaneStream) < (1u << 20));
}

TEST_CASE("a request is never answered with null, and what is read is free again") {
  static BufferPool pool;
  std::vector<BufferPool::Lent> lent;
  for (uint32_t i = 0; i < BufferPool::kBuffers + 40; ++i) lent.push_back(pool.lend());
  for (uint32_t i = 0; i < lent.size(); ++i) {
    REQUIRE(lent[i].bytes != nullptr);
    CHECK(reinterpret_cast<uintptr_t>(lent[i].bytes) % 8 == 0);
    CHECK(lent[i].size == (i < BufferPool::kBuffers ? BufferPool::kBytes : BufferPool::kDiscardBytes));
  }
  CHECK(pool.take_full().bytes == nullptr);
  CHECK(pool.take_back(lent[0].bytes, 400) == BufferPool::Returned::kept);
  CHECK(pool.take_back(lent[1].bytes, 0) == BufferPool::Returned::empty);
  CHECK(pool.take_back(lent.back().bytes, 400) == BufferPool::Returned::discarded);
  uint8_t foreign[8];
  CHECK(pool.take_back(foreign, 8) == BufferPool::Returned::foreign);
  CHECK(pool.take_back(nullptr, 8) == BufferPool::Returned::foreign);
  CHECK(pool.full() == 1);
  const BufferPool::Full full = pool.take_full();
  CHECK(full.bytes == lent[0].bytes);
  CHECK(full.valid_bytes == 400);
  CHECK(pool.take_full().bytes == nullptr);
  pool.give_back(full);
  CHECK(pool.lend().size == BufferPool::kBytes);
}

TEST_CASE("several threads lend, fill and read at once") {
  static BufferPool pool;
  std::uint64_t read = 0;
  std::vector<std::uint64_t> kept(3, 0);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kept.size(); ++t)
    threads.emplace_back([&count = kept[t]] {
      for (int i = 0; i < 2000; ++i) {
        const BufferPool::Lent lent = pool.lend();
        if (lent.size == BufferPool::kBytes) *lent.bytes = 1;
        count += pool.take_back(lent.bytes, 8) == BufferPool::Returned::kept ? 1 : 0;
      }
    });
  const auto drain = [&read] {
    for (BufferPool::Full full = pool.take_full(); full.bytes != nullptr; full = pool.take_full()) {
      read += *full.bytes;
      pool.give_back(full);
    }
  };
  for (int i = 0; i < 1000; ++i) drain();
  for (std::thread& thread : threads) thread.join();
  drain();
  CHECK(read == kept[0] + kept[1] + kept[2]);
}

TEST_CASE("which steps are watched") {
  struct {
    const char* text;
    Watch watch;
    std::vector<uint32_t> yes, no;
  } const cases[] = {
      {"windows", Watch::windows, {10, 19, 100, 109, 1000, 1009}, {0, 9, 20, 99, 110, 999, 1010, 5000}},
      {"all", Watch::always, {0, 7, 4000000000u}, {}},
      {"3:7", Watch::range, {3, 6}, {0, 2, 7}},
      {"0:99999999999999", Watch::range, {0, 999999999}, {}},
      {"7:3", Watch::never, {}, {3, 5, 7}},
      {"7:", Watch::never, {}, {7}},
      {":7", Watch::never, {}, {0}},
      {"3:7x", Watch::never, {}, {3}},
      {"", Watch::never, {}, {10}},
      {nullptr, Watch::never, {}, {10}},
  };
  for (const auto& one : cases) {
    const std::string text = one.text == nullptr ? "(null)" : one.text;
    CAPTURE(text);
    const Plan plan = parse_plan(one.text);
    CHECK(plan.watch == one.watch);
    for (const uint32_t step : one.yes) CHECK(watches(plan, step));
    for (const uint32_t step : one.no) CHECK_FALSE(watches(plan, step));
  }
}

TEST_CASE("which calls of the host are recorded") {
  CHECK(parse_calls("none") == Calls::none);
  CHECK(parse_calls("all") == Calls::all);
  for (const char* text : {"known", "", "None"}) CHECK(parse_calls(text) == Calls::known);
  CHECK(parse_calls(nullptr) == Calls::known);
}
