#include "collectors/host/topology.h"

#include <doctest/doctest.h>

#include "tests/unit/host/tree.h"

using namespace gradsync;

namespace {

void put_function(const test::Tree& tree, const std::string& address, const std::string& speed, int width, int node) {
  const std::string folder = "sys/devices/pci0000:00/" + address;
  tree.put(folder + "/current_link_speed", speed + "\n");
  tree.put(folder + "/max_link_speed", "16.0 GT/s PCIe\n");
  tree.put(folder + "/current_link_width", std::to_string(width) + "\n");
  tree.put(folder + "/max_link_width", "16\n");
  tree.put(folder + "/numa_node", std::to_string(node) + "\n");
}

const HostDevice* find(const Topology& topology, const std::string& name) {
  for (const HostDevice& device : topology.devices)
    if (device.name == name) return &device;
  return nullptr;
}

}  // namespace

TEST_CASE("NICs, RDMA devices and GPUs with their links and nodes") {
  const test::Tree tree;
  put_function(tree, "0000:1b:00.0", "8.0 GT/s PCIe", 16, 1);
  put_function(tree, "0000:3b:00.0", "2.5 GT/s PCIe", 16, 0);
  put_function(tree, "0000:5e:00.0", "16.0 GT/s PCIe", 8, -1);
  tree.link("sys/class/net/eth0/device", "../../../devices/pci0000:00/0000:1b:00.0");
  tree.put("sys/class/net/eth0/speed", "25000\n");
  tree.put("sys/class/net/eth0/operstate", "up\n");
  tree.put("sys/class/net/lo/operstate", "unknown\n");
  tree.put("sys/devices/pci0000:00/0000:5e:00.0/virtio3/x", "");
  tree.link("sys/class/net/eth1/device", "../../../devices/pci0000:00/0000:5e:00.0/virtio3");
  tree.link("sys/class/infiniband/mlx5_0/device", "../../../devices/pci0000:00/0000:1b:00.0");
  tree.put("sys/class/infiniband/mlx5_0/ports/1/rate", "100 Gb/sec (4X EDR)\n");
  tree.put("sys/class/infiniband/mlx5_0/ports/1/link_layer", "Ethernet\n");
  tree.put("sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n");
  tree.put("sys/devices/pci0000:00/0000:3b:00.0/class", "0x030200\n");
  tree.link("sys/bus/pci/devices/0000:3b:00.0", "../../../devices/pci0000:00/0000:3b:00.0");
  tree.put("sys/bus/pci/devices/0000:02:00.0/class", "0x030000\n");
  tree.put("sys/bus/pci/devices/0000:02:00.0/vendor", "0x102b\n");  // a server's own display
  tree.put("sys/devices/system/node/node0/cpulist", "0-3");
  tree.put("sys/devices/system/node/node1/cpulist", "4-7");
  tree.put("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
  tree.put("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "performance\n");
  tree.put("proc/77/comm", "irqbalance\n");
  tree.put("proc/sys/net/core/busy_poll", "50\n");
  tree.put("proc/sys/net/core/busy_read", "0\n");
  tree.put("proc/78/comm", "python3\n");

  const Topology topology = read_topology({tree.root() / "proc", tree.root() / "sys"});
  REQUIRE(topology.devices.size() == 4);
  const HostDevice* const nic = find(topology, "eth0");
  REQUIRE(nic != nullptr);
  CHECK(nic->address == "0000:1b:00.0");
  CHECK(*nic->numa_node == 1);
  CHECK(nic->port == "25000 Mb/s, up");
  CHECK(nic->link.slow());
  CHECK_FALSE(nic->link.narrow());
  REQUIRE(find(topology, "eth1") != nullptr);
  CHECK(find(topology, "eth1")->address == "0000:5e:00.0");
  CHECK_FALSE(find(topology, "eth1")->numa_node);
  CHECK(find(topology, "mlx5_0")->port == "100 Gb/sec (4X EDR), Ethernet, ACTIVE");
  CHECK(topology.numa_nodes == 2);
  CHECK(topology.governors == std::vector<std::string>{"performance", "powersave"});
  CHECK(topology.irq_owners == std::vector<std::string>{"irqbalance"});
  CHECK(topology.busy_polling == "poll 50 µs, read 0 µs");

  RecordingParts parts;
  add_topology_parts(topology, parts);
  // The GPU's slow link is its way to save power; half its lanes would not be.
  CHECK(parts.facts.at("topology.narrow_links") ==
        "eth0 has 16 lanes at 8 GT/s, of 16 at 16; eth1 has 8 lanes at 16 GT/s, of 16 at 16; "
        "mlx5_0 has 16 lanes at 8 GT/s, of 16 at 16");
  CHECK(parts.series.at("topology").rows.size() == 4);
}

TEST_CASE("frames of fast interfaces, and translation between devices") {
  const auto facts = [](const char* mtu, const char* speed, const char* group) {
    const test::Tree tree;
    put_function(tree, "0000:1b:00.0", "16.0 GT/s PCIe", 16, 0);
    put_function(tree, "0000:3b:00.0", "16.0 GT/s PCIe", 16, 0);
    tree.link("sys/class/net/eth0/device", "../../../devices/pci0000:00/0000:1b:00.0");
    tree.put("sys/class/net/eth0/mtu", mtu);
    tree.put("sys/class/net/eth0/speed", speed);
    tree.put("sys/devices/pci0000:00/0000:3b:00.0/class", "0x030200\n");
    if (*group != 0) tree.put("sys/devices/pci0000:00/0000:3b:00.0/iommu_group/type", group);
    tree.link("sys/bus/pci/devices/0000:3b:00.0", "../../../devices/pci0000:00/0000:3b:00.0");
    tree.put("proc/driver/nvidia/version",
             "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.161.08  Sat Feb 24 22:55:58 UTC 2024\nGCC version: "
             "12.2.0\n");
    RecordingParts parts;
    add_topology_parts(read_topology({tree.root() / "proc", tree.root() / "sys"}), parts);
    return parts.facts;
  };
  const Facts small = facts("1500\n", "25000\n", "DMA-FQ\n");
  CHECK(small.at("topology.mtu") == "small on a fast link");
  CHECK(small.at("topology.mtu.where") == "eth0: 1500 bytes at 25000 Mb/s");
  CHECK(small.at("topology.iommu") == "translates");
  CHECK(small.at("topology.gpu_driver") == "535.161.08");
  const Facts large = facts("9000\n", "25000\n", "identity\n");
  CHECK(large.at("topology.mtu") == "large");
  CHECK(large.at("topology.iommu") == "passes through");
  const Facts slow = facts("1500\n", "1000\n", "");
  CHECK_FALSE(slow.contains("topology.mtu"));
  CHECK(slow.at("topology.iommu") == "off");
}

TEST_CASE("an empty tree has no facts") {
  const test::Tree tree;
  RecordingParts parts;
  add_topology_parts(read_topology({tree.root() / "proc", tree.root() / "sys"}), parts);
  CHECK(parts.facts.empty());
  CHECK(parts.series.empty());
}

TEST_CASE("link speeds") {
  CHECK(*parse_link_speed("16.0 GT/s PCIe\n") == 16.0);
  CHECK(*parse_link_speed("2.5 GT/s") == 2.5);
  for (const char* broken : {"", "Unknown", "-1 GT/s", "fast 3"}) CHECK_FALSE(parse_link_speed(broken));
}
