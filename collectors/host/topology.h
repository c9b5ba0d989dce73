// What the machine is, as far as synchronisation cares: where NICs, RDMA devices and GPUs sit, how wide and fast their
// PCIe links are now and could be, who governs clocks and interrupts. Read once.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "collectors/host/irq_snapshot.h"
#include "collectors/host/nvml.h"
#include "collectors/host/pci_acs.h"
#include "src/model/collector.h"

namespace gradsync {

struct PciLink {
  std::optional<double> speed_gts, max_speed_gts;  // 16.0
  std::optional<int> width, max_width;             // lanes
  // Fewer lanes than both ends could do, or (when `speed` counts) a slower generation. An idle GPU slows its link down.
  bool narrow() const { return width && max_width && *width > 0 && *width < *max_width; }
  bool slow() const { return speed_gts && max_speed_gts && *speed_gts > 0 && *speed_gts < *max_speed_gts; }
};

enum class DeviceKind { nic, rdma, gpu };

struct HostDevice {
  DeviceKind kind = DeviceKind::nic;
  std::string name;              // "eth0", "mlx5_0"; of a GPU its address
  std::string address;           // "0000:1b:00.0"; empty: not on PCI
  std::optional<int> numa_node;  // absent: unknown, or a machine without
  PciLink link;
  std::string port;        // "100 Gb/sec (4X EDR), InfiniBand, ACTIVE"; of a NIC "25000 Mb/s, up"
  std::string model = {};  // of a GPU, where its driver tells
  std::optional<int> nvlinks = {}, nvlinks_active = {};  // of a GPU that has any
  std::string iommu = {};                                // type of its group: "DMA-FQ", "identity"; empty: none
  AcsPath acs = {};                                      // of the switches above it
  std::optional<int> mtu = {}, megabits = {};            // of a NIC
};

struct Topology {
  std::vector<HostDevice> devices;
  int numa_nodes = 0;
  std::string gpu_driver = {};          // of NVIDIA's kernel module; empty: none
  std::vector<std::string> governors;   // of the CPUs, each once
  std::vector<std::string> irq_owners;  // irqbalance, tuned, crio: who changes interrupts besides us
  std::string busy_polling = {};        // of sockets, by sysctl: "off", "poll 50 µs, read 0 µs"; empty: not told
};

// "16.0 GT/s PCIe" → 16.0; "x16", "16" → 16.
std::optional<double> parse_link_speed(std::string_view text);
// Models, NVLink, and links of GPUs that this sysfs does not show.
void add_nvml(const std::vector<NvmlGpu>& gpus, Topology& topology);
Topology read_topology(const IrqRoots& roots);
void add_topology_parts(const Topology& topology, RecordingParts& parts);

}  // namespace gradsync
