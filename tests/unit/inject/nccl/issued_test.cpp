// Which call a launched piece of work belongs to, the plug-in's handles, and the versions that it leaves alone. The
// state is the process's: cases build on each other's leftovers as little as they can, by names of their own.
#include "collectors/inject/nccl/issued.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "collectors/inject/nccl/denied.h"
#include "collectors/inject/nccl/slots.h"

using namespace gradsync::nccl;

namespace {

std::uint64_t taken(std::uint64_t bytes, std::uint64_t communicator, std::uint32_t name) {
  return take_issued({0, bytes, communicator, name});
}

}  // namespace

TEST_CASE("calls are kept once a plug-in asks for them") {
  CHECK(remember_issued({1, 8, 0, 1}) == 0);
  CHECK(calls_are_reported());
  CHECK(taken(8, 0, 1) == 0);
  keep_issued_calls();
  CHECK(remember_issued({1, 8, 0, 1}) != 0);
  CHECK(taken(8, 0, 1) == 1);
  CHECK(taken(8, 0, 1) == 0);
}

TEST_CASE("the oldest call that fits in name, bytes and communicator is taken") {
  remember_issued({10, 64, 0xa, 2});
  remember_issued({11, 128, 0xa, 2});
  remember_issued({12, 64, 0xb, 2});
  remember_issued({13, 64, 0xa, 3});
  remember_issued({14, 64, 0xa, 2});
  CHECK(taken(64, 0xb, 2) == 12);
  CHECK(taken(64, 0xa, 2) == 10);
  CHECK(taken(64, 0xa, 2) == 14);
  CHECK(taken(64, 0xa, 2) == 0);
  CHECK(taken(64, 0xa, 3) == 13);
  CHECK(taken(128, 0xc, 2) == 0);
  CHECK(taken(128, 0xa, 2) == 11);
}

TEST_CASE("what is not told fits everything") {
  remember_issued({20, 0, 0, 4});
  CHECK(taken(77, 0xd, 4) == 20);
  remember_issued({21, 77, 0xd, 4});
  CHECK(taken(0, 0, 4) == 21);
}

TEST_CASE("what is learned later counts") {
  const std::uint64_t ticket = remember_issued({30, 0, 0, 5});
  refine_issued(ticket, 99, 0xe);
  CHECK(taken(98, 0, 5) == 0);
  CHECK(taken(99, 0xf, 5) == 0);
  CHECK(taken(99, 0xe, 5) == 30);
  refine_issued(ticket, 1, 1);  // taken already: nothing happens
  CHECK(taken(1, 1, 5) == 0);
}

TEST_CASE("calls that nothing was launched for are forgotten in the end") {
  remember_issued({40, 1, 1, 6});
  for (std::uint32_t i = 0; i < kIssued; ++i) remember_issued({41, 2, 1, 6});
  CHECK(taken(1, 1, 6) == 0);
  std::uint32_t found = 0;
  while (taken(2, 1, 6) == 41) ++found;
  CHECK(found == kIssued);
}

TEST_CASE("threads that issue and launch: launches find their calls, and no call is taken twice") {
  constexpr int kThreads = 4, kCalls = 20000;
  keep_issued_calls();
  std::vector<std::vector<std::uint64_t>> events(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([t, &events] {
      for (int i = 0; i < kCalls; ++i) {
        const auto event = static_cast<std::uint64_t>(t) * kCalls + static_cast<std::uint64_t>(i) + 1;
        remember_issued({event, 16, 0xabc, 7});
        if (const std::uint64_t found = taken(16, 0xabc, 7)) events[static_cast<std::size_t>(t)].push_back(found);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<int> seen(kThreads * kCalls + 1);
  for (const auto& list : events)
    for (const std::uint64_t event : list) ++seen[event];
  CHECK(std::count_if(seen.begin(), seen.end(), [](int n) { return n > 1; }) == 0);
  // All but the few behind a thread that lost its CPU while it wrote.
  CHECK(std::count(seen.begin(), seen.end(), 1) > kThreads * kCalls * 0.999);
}

TEST_CASE("a handle finds its event until its slot is used again") {
  PluginEvent event = {};
  event.event = 123;
  void* handle = make_handle(event);
  REQUIRE(event_of(handle) != nullptr);
  CHECK(event_of(handle)->event == 123);
  CHECK(event_of(nullptr) == nullptr);
  CHECK(event_of(&event) == nullptr);
  for (int i = 0; i < 16384; ++i) make_handle(event);
  CHECK(event_of(handle) == nullptr);
}

TEST_CASE("communicators are given out until all are in use") {
  std::vector<PluginCommunicator*> all;
  while (PluginCommunicator* one = take_communicator()) all.push_back(one);
  CHECK(all.size() == 1024);
  give_back(all[7]);
  CHECK(take_communicator() == all[7]);
  for (PluginCommunicator* one : all) give_back(one);
}

TEST_CASE("versions that the plug-in leaves alone, and why") {
  CHECK(denied_events(23003).events == ~std::uint64_t{0});
  CHECK(std::string(denied_events(23003).why).find("2.30.3") != std::string::npos);
  CHECK(denied_events(23102).events == EventType::kernel_channel);
  CHECK(denied_events(22501).events == EventType::proxy_step);
  for (const int version : {0, 22304, 22703, 22809, 23002, 23004, 23101}) CHECK(denied_events(version).events == 0);
}
