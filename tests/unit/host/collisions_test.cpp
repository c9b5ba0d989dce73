#include "collectors/host/collisions.h"

#include <doctest/doctest.h>

using namespace gradsync;

namespace {

// Two cores of two threads each: 0 and 2, 1 and 3.
const std::map<int, CpuList> kCores{{0, {0, 2}}, {1, {1, 3}}, {2, {0, 2}}, {3, {1, 3}}};

std::vector<Collision> find(const std::vector<CoreThread>& threads, const std::vector<CoreInterrupts>& irqs = {}) {
  return find_collisions(threads, irqs, kCores);
}

}  // namespace

TEST_CASE("threads on one CPU take turns; on the siblings of a core they slow each other down") {
  const auto same = find({{"rank:1", {0}, 60}, {"proxy:2", {0}, 95}});
  REQUIRE(same.size() == 1);
  CHECK(same[0].kind == Collision::Kind::same_cpu);
  CHECK(same[0].cpus == CpuList{0});
  CHECK(same[0].who == std::vector<std::string>{"proxy:2 (95 %)", "rank:1 (60 %)"});

  const auto smt = find({{"rank:1", {0}, 60}, {"proxy:2", {2}, 95}});
  REQUIRE(smt.size() == 1);
  CHECK(smt[0].kind == Collision::Kind::smt_siblings);
  CHECK(smt[0].cpus == CpuList{0, 2});
  // Both may use the whole core: the scheduler gives each a sibling.
  CHECK(find({{"rank:1", {0, 2}, 60}, {"proxy:2", {0, 2}, 95}})[0].kind == Collision::Kind::smt_siblings);
}

TEST_CASE("a device's interrupts on the core of a bound thread") {
  const auto turns = find({{"rank:1", {1}, 90}}, {{"eth0", 1, 12'000}});
  REQUIRE(turns.size() == 1);
  CHECK(turns[0].kind == Collision::Kind::same_cpu);
  CHECK(turns[0].who.back() == "eth0 (12000 interrupts/s)");
  CHECK(find({{"rank:1", {1}, 90}}, {{"eth0", 3, 12'000}})[0].kind == Collision::Kind::smt_siblings);
  CHECK(find({{"rank:1", {1}, 90}}, {{"eth0", 1, 500}}).empty());
  CHECK(find({{"rank:1", {1}, 90}}, {{"eth0", 0, 12'000}}).empty());
}

TEST_CASE("who may run elsewhere, sleeps, or has a core alone, collides with nobody") {
  CHECK(find({{"rank:1", {0}, 90}, {"wide:2", {0, 1, 2, 3}, 90}}).empty());
  CHECK(find({{"rank:1", {0}, 90}, {"watch:2", {0}, 1}}).empty());
  CHECK(find({{"rank:1", {0}, 90}, {"rank:2", {1}, 90}}).empty());
  CHECK(find({{"rank:1", {}, 90}, {"rank:2", {}, 90}}).empty());
  CHECK(find({{"rank:1", {7}, 90}, {"rank:2", {7}, 90}}).empty());  // of a CPU that is not known
}

TEST_CASE("facts: none, the gravest of several, and nothing where it is not known who may run where") {
  RecordingParts parts;
  add_collisions({{"rank:1", {}, 90}}, {}, kCores, "n", parts);
  add_collisions({{"rank:1", {0}, 90}}, {}, {}, "n", parts);
  CHECK(parts.facts.empty());
  add_collisions({{"rank:1", {0}, 90}, {"wide:2", {0, 1, 2, 3}, 90}}, {}, kCores, "n", parts);
  CHECK(parts.facts.at("sched.same_core.kind") == "none");
  add_collisions({{"a:1", {0}, 90}, {"b:2", {2}, 90}, {"c:3", {1}, 90}, {"d:4", {1}, 80}}, {}, kCores, "n", parts);
  CHECK(parts.facts.at("sched.same_core.kind") == "same CPU");
  CHECK(parts.facts.at("sched.same_core") == "CPU 1: c:3 (90 %), d:4 (80 %); 1 more cores");
  CHECK(parts.series.at("collisions").rows.size() == 2);
}
