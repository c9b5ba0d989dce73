#include "src/affinity/targets.h"

#include <doctest/doctest.h>

#include "machines.h"

namespace gradsync {
namespace {

// 4 cores with 2 threads each on 2 nodes: node 0 is CPUs 0, 1, 4, 5.
TEST_CASE("exclusions are dropped from the right, and what was dropped is said") {
  struct Case {
    const char* what;
    std::vector<CpuList> threads;
    CpuList targets;
  };
  for (const Case& c : {
           Case{"no training", {}, {0, 1, 4, 5}},
           {"threads that may run anywhere say nothing", {{0, 1, 2, 3, 4, 5, 6, 7}}, {0, 1, 4, 5}},
           {"a pinned thread and its sibling", {{0}}, {1, 5}},
           {"pinned on both cores: the siblings are needed", {{0}, {1}}, {4, 5}},
           {"siblings of wide threads go before those of pinned ones", {{0, 1, 2, 3}, {0}}, {5}},
           {"wide threads give way", {{0, 1, 2, 3, 4, 5, 6}}, {0, 1, 4, 5}},
           {"pinned ones do not", {{0, 1, 2, 3, 4, 5, 6}, {0}}, {1, 4, 5}},
           {"pinned on all of them: none", {{0}, {1}, {4}, {5}}, {}},
       }) {
    CAPTURE(c.what);
    IrqSnapshot snapshot = machine(8, 2);
    add_device(snapshot, "eth0", 0);
    int tid = 10;
    for (const CpuList& allowed : c.threads) snapshot.threads.push_back({1, tid++, "t", allowed});
    CHECK(target_cpus(snapshot, snapshot.devices["eth0"], {}, NumaRule::keep_local).cpus == c.targets);
  }
}

TEST_CASE("another node only with --force") {
  IrqSnapshot snapshot = machine(8, 2);
  add_device(snapshot, "eth0", 0);
  const IrqDevice& device = snapshot.devices["eth0"];
  const IrqTargets none = target_cpus(snapshot, device, CpuList{2, 3}, NumaRule::keep_local);
  CHECK(none.cpus.empty());
  CHECK(none.says == "no CPU is left near the device (its own: 0-1,4-5); --force allows another NUMA node");
  const IrqTargets forced = target_cpus(snapshot, device, CpuList{2, 3}, NumaRule::any_node);
  CHECK(forced.cpus == CpuList{2, 3});
  CHECK(forced.says == "CPUs of any node (--force)");
  for (const int number : {0, 1, 4, 5}) snapshot.threads.push_back({1, 10 + number, "spin", {number}});
  CHECK(target_cpus(snapshot, device, {}, NumaRule::keep_local).says ==
        "pinned training threads have all of its CPUs (0-1,4-5)");
}

}  // namespace
}  // namespace gradsync
