// Several threads, threads that end, and ends that come from elsewhere.
#include <doctest/doctest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "src/spool_writer/gsd.h"
#include "tests/unit/spool_writer/spool_probe.h"

using namespace gradsync;
using spool::Kind;
using test::Recording;
using test::run_writer;

namespace {

constexpr std::uint64_t kMark = GSD_WHAT(Kind::mark, 0, spool::Source::nvtx, 0, 0);

// A thread waits only briefly while another one opens the spool, then it drops and counts: on a busy machine that
// happens, and would hide what these tests look for.
void open_spool_first() { gsd_fact("opened", "yes"); }

}  // namespace

TEST_CASE("8 threads at once: nothing is lost, nothing is mixed") {
  constexpr int kThreads = 8;
  constexpr int kEvents = 20000;
  const Recording recording;
  REQUIRE(run_writer(&recording, [] {
            open_spool_first();
            std::vector<std::thread> threads;
            for (int t = 0; t < kThreads; ++t) {
              threads.emplace_back([t] {
                for (int i = 0; i < kEvents; ++i) {
                  // Names collide between threads on purpose: they race for the same slots of the string table.
                  const std::uint32_t name = gsd_string(("name " + std::to_string(i % 500)).c_str(), -1);
                  gsd_end(
                      gsd_begin(GSD_WHAT(Kind::range, 0, 0, 0, name), static_cast<std::uint64_t>(i), GSD_WHERE(0, t)));
                }
              });
            }
            for (auto& thread : threads) thread.join();
            return 0;
          }) == 0);

  const test::Spool spool = recording.only();
  CHECK(spool.events.size() == kThreads * kEvents);
  std::map<std::uint32_t, std::uint64_t> next;  // per thread: events come in its order, in one lane
  std::map<std::uint32_t, std::uint32_t> lane_of;
  int wrong = 0;
  for (const auto& event : spool.events) {
    const spool::Record& record = event.record;
    lane_of.emplace(record.sequence, record.lane);
    wrong += record.lane != lane_of[record.sequence];
    wrong += record.bytes >= kEvents || spool.text(record.name) != "name " + std::to_string(record.bytes % 500);
    wrong += record.end_ns < record.start_ns;
    next[record.sequence] += 1;
  }
  CHECK(wrong == 0);
  for (const auto& [thread, count] : next) CHECK(count == kEvents);
  CHECK(lane_of.size() == kThreads);
  CHECK(spool.header.dropped_full + spool.header.dropped_no_space + spool.header.dropped_nested == 0);
}

TEST_CASE("threads that intern the same new text at the same moment get one id") {
  constexpr int kThreads = 3;
  constexpr int kRounds = 200;
  constexpr int kTexts = 20;  // per round: starting together is what takes time
  const Recording recording;
  CHECK(run_writer(&recording, [] {
          static std::atomic<int> round;
          static std::atomic<int> arrived;
          static std::uint32_t ids[kThreads][kRounds * kTexts];
          std::vector<std::thread> threads;
          for (int t = 0; t < kThreads; ++t) {
            threads.emplace_back([t] {
              for (int r = 0; r < kRounds; ++r) {
                if (arrived.fetch_add(1) == kThreads - 1) {
                  arrived = 0;
                  ++round;
                }
                while (round <= r) std::this_thread::yield();
                for (int k = r * kTexts; k < (r + 1) * kTexts; ++k) {
                  ids[t][k] = gsd_string(("text " + std::to_string(k)).c_str(), -1);
                }
              }
            });
          }
          for (auto& thread : threads) thread.join();
          int differ = 0;
          for (int k = 0; k < kRounds * kTexts; ++k) {
            differ += ids[0][k] == 0 || ids[0][k] != ids[1][k] || ids[0][k] != ids[2][k];
          }
          return differ == 0 ? 0 : 1;
        }) == 0);
}

TEST_CASE("another thread ends an event whose chunk is full") {
  const Recording recording;
  REQUIRE(run_writer(&recording, [] {
            const std::uint64_t event = gsd_begin(GSD_WHAT(Kind::range, 0, 0, 0, gsd_string("long", -1)), 0, 0);
            for (int i = 0; i < 5000; ++i) gsd_event(kMark, 0, 0, 1, 1);
            std::thread([event] { gsd_end(event); }).join();
            return 0;
          }) == 0);
  const test::Spool spool = recording.only();
  const auto ranges = spool.of_kind(Kind::range);
  REQUIRE(ranges.size() == 1);
  CHECK(ranges[0].end_ns > ranges[0].start_ns);
  CHECK(spool.header.chunks_used >= 5);
}

TEST_CASE("a thread takes over the chunk of one that ended, and says so") {
  constexpr int kThreads = 50;
  const Recording recording;
  REQUIRE(run_writer(&recording, [] {
            for (int t = 0; t < kThreads; ++t) {
              std::thread([t] {
                gsd_event(kMark, static_cast<std::uint64_t>(::syscall(SYS_gettid)), GSD_WHERE(0, t), 1, 1);
              }).join();
            }
            return 0;
          }) == 0);
  const test::Spool spool = recording.only();
  CHECK(spool.header.chunks_used == 1);
  REQUIRE(spool.events.size() == kThreads);
  std::map<std::uint32_t, std::uint32_t> tid_of;
  for (const auto& lane : spool.lanes) tid_of[lane.lane] = lane.tid;
  CHECK(tid_of.size() == kThreads);
  for (const auto& event : spool.events) CHECK(tid_of[event.record.lane] == event.record.bytes);
}

TEST_CASE("threads that come and go while others write") {
  const Recording recording;
  REQUIRE(run_writer(&recording, [] {
            open_spool_first();
            std::vector<std::thread> starters;
            for (int s = 0; s < 4; ++s) {
              starters.emplace_back([] {
                for (int i = 0; i < 100; ++i) {
                  std::thread([] {
                    for (int k = 0; k < 30; ++k) gsd_event(kMark, 0, 0, 1, 1);
                  }).join();
                }
              });
            }
            for (auto& starter : starters) starter.join();
            return 0;
          }) == 0);
  const test::Spool spool = recording.only();
  CHECK(spool.events.size() == 4 * 100 * 30);
  CHECK(spool.header.chunks_used <= 20);
}
