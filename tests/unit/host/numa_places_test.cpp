#include "collectors/host/numa_places.h"

#include <doctest/doctest.h>

#include "tests/unit/host/tree.h"

using namespace gradsync;

TEST_CASE("nodes from /sys, and which of them CPUs are on") {
  const test::Tree tree;
  tree.put("sys/devices/system/node/node0/cpulist", "0-3\n");
  tree.put("sys/devices/system/node/node1/cpulist", "4-7\n");
  tree.put("sys/devices/system/node/node2/cpulist", "\n");  // memory alone
  tree.put("sys/devices/system/node/nodes/x", "");
  const NumaNodes nodes = read_numa_nodes(tree.root() / "sys");
  REQUIRE(nodes.size() == 3);
  CHECK(nodes.at(1) == CpuList{4, 5, 6, 7});
  CHECK(nodes_text({2}, nodes) == "node 0");
  CHECK(nodes_text({2, 5}, nodes) == "nodes 0-1");
  CHECK(nodes_text({64}, nodes) == "no known node");
  CHECK(read_numa_nodes("/nonexistent").empty());
}
