#include "collectors/host/pci_acs.h"

#include <doctest/doctest.h>

#include "collectors/host/topology.h"
#include "tests/unit/host/tree.h"

using namespace gradsync;

namespace {

constexpr int kRootPort = 4, kUpstream = 5, kDownstream = 6;

void put(std::string& config, std::size_t at, unsigned value, int bytes) {
  for (int i = 0; i < bytes; ++i) config[at + static_cast<std::size_t>(i)] = static_cast<char>(value >> 8 * i & 0xff);
}

// A port with power management, PCI Express, error reporting and, unless `control` is -1, access control.
std::string port(int type, int control) {
  std::string config(4096, '\0');
  put(config, 0x06, 0x0010, 2);
  put(config, 0x34, 0x40, 1);
  put(config, 0x40, 0x6801, 2);  // power management, next at 0x68
  put(config, 0x68, 0x0010, 2);
  put(config, 0x6a, static_cast<unsigned>(type) << 4U | 2U, 2);
  put(config, 0x100, 0x0001 | 1U << 16U | 0x150U << 20U, 4);
  if (control < 0) return config;
  put(config, 0x150, 0x000d | 1U << 16U, 4);
  put(config, 0x156, static_cast<unsigned>(control), 2);
  return config;
}

}  // namespace

TEST_CASE("a port of a switch that redirects requests or completions, and everything else") {
  CHECK(acs_of(port(kDownstream, 0x1d)) == AcsPort::redirects);  // what Linux sets with the IOMMU
  CHECK(acs_of(port(kDownstream, 0x08)) == AcsPort::redirects);
  CHECK(acs_of(port(kDownstream, 0x01)) == AcsPort::open);  // validates sources alone
  CHECK(acs_of(port(kDownstream, -1)) == AcsPort::open);
  CHECK(acs_of(port(kRootPort, 0x1d)) == AcsPort::not_a_switch);
  CHECK(acs_of(port(kUpstream, 0x1d)) == AcsPort::not_a_switch);
  CHECK(acs_of(std::string(256, '\0')) == AcsPort::not_a_switch);  // no capabilities at all
}

TEST_CASE("what is cut short is not known, and circles end") {
  const std::string whole = port(kDownstream, 0x1d);
  CHECK(acs_of("") == AcsPort::unknown);
  CHECK(acs_of(whole.substr(0, 64)) == AcsPort::unknown);  // what others than root may read
  CHECK(acs_of(whole.substr(0, 256)) == AcsPort::unknown);
  std::string circle = port(kDownstream, -1);
  put(circle, 0x100, 0x0001 | 0x100U << 20U, 4);
  CHECK(acs_of(circle) == AcsPort::open);
  put(circle, 0x68, 0x6801, 2);
  CHECK(acs_of(circle) == AcsPort::not_a_switch);
  CHECK(acs_of(std::string(4096, '\xff')) == AcsPort::unknown);  // a device that is gone reads as ones
}

TEST_CASE("the way from a GPU up to its root port") {
  const auto facts = [](int first, int second, std::size_t readable) {
    const test::Tree tree;
    const std::string up = "sys/devices/pci0000:37/0000:37:01.0", top = up + "/0000:38:00.0";
    tree.put(up + "/config", port(kRootPort, 0x1d));
    tree.put(top + "/config", port(kUpstream, -1));
    for (const auto& [name, control] : {std::pair{"0000:39:00.0", first}, {"0000:39:01.0", second}})
      tree.put(top + "/" + name + "/config", port(kDownstream, control).substr(0, readable));
    tree.put(top + "/0000:39:00.0/0000:3a:00.0/class", "0x030200\n");
    tree.link("sys/bus/pci/devices/0000:3a:00.0",
              "../../../devices/pci0000:37/0000:37:01.0/0000:38:00.0/0000:39:00.0/0000:3a:00.0");
    tree.put(top + "/0000:39:01.0/0000:3b:00.0/x", "");
    tree.link("sys/class/infiniband/mlx5_0/device",
              "../../../devices/pci0000:37/0000:37:01.0/0000:38:00.0/0000:39:01.0/0000:3b:00.0");
    RecordingParts parts;
    add_topology_parts(read_topology({tree.root() / "proc", tree.root() / "sys"}), parts);
    return parts.facts;
  };
  const Facts one = facts(0x00, 0x1d, 4096);
  CHECK(one.at("topology.acs") == "redirects");
  CHECK(one.at("topology.acs.where") == "0000:39:01.0 above mlx5_0");
  CHECK(facts(0x00, 0x00, 4096).at("topology.acs") == "off");
  CHECK_FALSE(facts(0x1d, 0x1d, 64).contains("topology.acs"));
}

TEST_CASE("devices on the root complex itself have no switch above them") {
  const test::Tree tree;
  tree.put("sys/devices/pci0000:00/0000:00:05.0/class", "0x030200\n");
  tree.link("sys/bus/pci/devices/0000:00:05.0", "../../../devices/pci0000:00/0000:00:05.0");
  RecordingParts parts;
  add_topology_parts(read_topology({tree.root() / "proc", tree.root() / "sys"}), parts);
  CHECK(parts.facts.at("topology.acs") == "no switch");
}
