#include "collectors/host/nvml.h"

#include <doctest/doctest.h>
#include <stdlib.h>

#include "collectors/host/topology.h"

using namespace gradsync;

TEST_CASE("GPUs as the library tells them") {
  const Result<std::vector<NvmlGpu>> gpus = read_nvml(GSD_FAKE_NVML);
  REQUIRE(gpus);
  REQUIRE(gpus->size() == 2);
  const NvmlGpu& first = (*gpus)[0];
  CHECK(first.address == "0000:1b:00.0");
  CHECK(first.model == "NVIDIA Example 80GB");
  CHECK(first.generation == 1);
  CHECK(first.max_generation == 5);
  CHECK(first.nvlinks == 4);
  CHECK(first.nvlinks_active == 3);
  CHECK((*gpus)[1].address == "0001:c1:00.0");
  CHECK_FALSE((*gpus)[1].nvlinks);  // it cannot have any: that is not zero of some
  CHECK(read_nvml(GSD_FAKE_NVML));  // a second time
}

TEST_CASE("no library, and no driver") {
  CHECK(read_nvml("libgsd-no-such-library.so.1").error().why.find("no NVIDIA driver") != std::string::npos);
  CHECK(read_nvml("libc.so.6").error().why.find("lacks functions") != std::string::npos);
  ::setenv("GSD_FAKE_NVML", "broken", 1);
  const Result<std::vector<NvmlGpu>> broken = read_nvml(GSD_FAKE_NVML);
  ::unsetenv("GSD_FAKE_NVML");
  REQUIRE_FALSE(broken);
  CHECK(broken.error().why == "Driver Not Loaded");
}

TEST_CASE("what the library tells is laid over what sysfs tells") {
  Topology topology;
  HostDevice known{DeviceKind::gpu, "0000:1b:00.0", "0000:1b:00.0", 1, {}, ""};
  known.link = {2.5, 32.0, 16, 16};
  topology.devices = {known};
  add_nvml(*read_nvml(GSD_FAKE_NVML), topology);
  REQUIRE(topology.devices.size() == 2);  // the second is not in this sysfs: a container
  CHECK(topology.devices[0].model == "NVIDIA Example 80GB");
  CHECK(*topology.devices[0].numa_node == 1);
  CHECK(topology.devices[1].kind == DeviceKind::gpu);
  CHECK(*topology.devices[1].link.max_speed_gts == 16.0);
  CHECK(topology.devices[1].link.narrow());

  RecordingParts parts;
  add_topology_parts(topology, parts);
  CHECK(parts.facts.at("topology.nvlink") == "0000:1b:00.0: 3 of 4 links up");
  CHECK(parts.facts.at("topology.gpus") == "NVIDIA Example 80GB, NVIDIA Example PCIe");
  const Series& series = parts.series.at("topology");
  CHECK(series.columns.back() == "nvlinks");
  CHECK(std::get<double>(series.rows[0].back()) == 4);
}

TEST_CASE("speeds of PCIe generations") {
  CHECK(*pcie_lane_speed(1) == 2.5);
  CHECK(*pcie_lane_speed(5) == 32);
  CHECK_FALSE(pcie_lane_speed(0));
  CHECK_FALSE(pcie_lane_speed(7));
}
