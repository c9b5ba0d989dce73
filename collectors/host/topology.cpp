#include "collectors/host/topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <set>

#include "collectors/host/host.h"
#include "collectors/host/job_tree.h"
#include "collectors/host/proc_sampler.h"
#include "src/base/file.h"
#include "src/base/text.h"
#include "src/hosttext/numbers.h"

namespace gradsync {
namespace {

namespace fs = std::filesystem;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr std::string_view kNvidia = "0x10de", kAmd = "0x1002";

std::string read_line(const fs::path& path) {
  const Result<std::string> text = read_file(path, 65536);
  return text ? std::string(trim(*text)) : std::string();
}

std::optional<int> read_number(const fs::path& path) {
  const std::string text = read_line(path);
  const auto value = parse_unsigned(text);
  return value && *value < 1'000'000 ? std::optional(static_cast<int>(*value)) : std::nullopt;
}

std::vector<fs::path> entries(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) found.push_back(entry->path());
  std::sort(found.begin(), found.end());
  return found;
}

// 0000:1b:00.0
bool is_pci_address(const std::string& name) {
  return name.size() >= 12 && name[4] == ':' && name[7] == ':' && name[10] == '.';
}

// The function itself, or what carries it: a virtio NIC is a child of its PCI function.
fs::path pci_function(const fs::path& device, const fs::path& sys) {
  std::error_code error;
  fs::path folder = fs::canonical(device, error);
  const fs::path top = fs::canonical(sys, error);
  for (; !folder.empty() && folder != top && folder.has_relative_path(); folder = folder.parent_path())
    if (is_pci_address(folder.filename().string())) return folder;
  return {};
}

void read_function(const fs::path& function, HostDevice& device) {
  if (function.empty()) return;
  device.address = function.filename().string();
  device.numa_node = read_number(function / "numa_node");  // -1: not known
  device.link = {parse_link_speed(read_line(function / "current_link_speed")),
                 parse_link_speed(read_line(function / "max_link_speed")), read_number(function / "current_link_width"),
                 read_number(function / "max_link_width")};
  device.iommu = read_line(function / "iommu_group/type");
  device.acs = acs_above(function);
}

void add_nics(const fs::path& sys, Topology& topology) {
  for (const fs::path& folder : entries(sys / "class/net")) {
    HostDevice device{DeviceKind::nic, folder.filename().string(), "", {}, {}, ""};
    read_function(pci_function(folder / "device", sys), device);
    if (device.address.empty()) continue;  // loopback, bridges, tunnels
    const auto speed = read_number(folder / "speed");
    device.megabits = speed;
    device.mtu = read_number(folder / "mtu");
    device.port = (speed ? std::to_string(*speed) + " Mb/s, " : "") + read_line(folder / "operstate");
    topology.devices.push_back(std::move(device));
  }
}

void add_rdma(const fs::path& sys, Topology& topology) {
  for (const fs::path& folder : entries(sys / "class/infiniband")) {
    HostDevice device{DeviceKind::rdma, folder.filename().string(), "", {}, {}, ""};
    read_function(pci_function(folder / "device", sys), device);
    for (const fs::path& port : entries(folder / "ports")) {
      const std::string state = read_line(port / "state");  // "4: ACTIVE"
      device.port += (device.port.empty() ? "" : "; ") + read_line(port / "rate") + ", " +
                     read_line(port / "link_layer") + ", " + state.substr(std::min(state.find(' ') + 1, state.size()));
    }
    topology.devices.push_back(std::move(device));
  }
}

// 3D controllers, and displays of those who make GPUs: a server's own display is none.
bool is_gpu(const fs::path& function) {
  const std::string kind = read_line(function / "class"), vendor = read_line(function / "vendor");
  return kind.starts_with("0x0302") || (kind.starts_with("0x0300") && (vendor == kNvidia || vendor == kAmd)) ||
         (kind.starts_with("0x1200") && vendor == kAmd);
}

void add_gpus(const fs::path& sys, Topology& topology) {
  for (const fs::path& function : entries(sys / "bus/pci/devices")) {
    if (!is_gpu(function)) continue;
    HostDevice device{DeviceKind::gpu, function.filename().string(), "", {}, {}, ""};
    read_function(function, device);
    device.address = device.name;
    topology.devices.push_back(std::move(device));
  }
}

std::string link_text(const HostDevice& device) {
  const PciLink& link = device.link;
  return fmt::format("{} has {} lanes at {:g} GT/s, of {} at {:g}", device.name, link.width.value_or(0),
                     link.speed_gts.value_or(0), link.max_width.value_or(0), link.max_speed_gts.value_or(0));
}

class TopologyCollector final : public Collector {
 public:
  std::string name() const override { return "topology"; }
  std::vector<Coverage> probe(const CollectorContext&) const override {
    Coverage coverage{name(), "", CoverageState::collected, "", "", 0};
    if (const auto gpus = read_nvml(); !gpus) {
      coverage.reason =
          "devices, links and NUMA nodes of /sys, without models and NVLinks of GPUs: " + gpus.error().why;
      coverage.hint = std::string("with NVIDIA's driver (") + kNvmlLibrary + ") these are told, too";
    }
    return {coverage};
  }
  Result<void> start(const CollectorContext& context, Environment&) override {
    roots_ = roots_of(context);
    topology_ = read_topology(roots_);
    return {};
  }
  // NVML takes its time to start: the job does not wait for it. A copy of another machine's files knows no library.
  void stop(const CollectorContext&, EventSink&, RecordingParts& parts) override {
    if (roots_.live())
      if (const auto gpus = read_nvml()) add_nvml(*gpus, topology_);
    add_topology_parts(topology_, parts);
  }

 private:
  // A container may have the host's /sys elsewhere.
  static IrqRoots roots_of(const CollectorContext& context) {
    IrqRoots roots;
    if (context.root != "/") roots = {context.root / "proc", context.root / "sys"};
    const auto told = [&context](const char* option, fs::path& path) {
      const auto found = context.options.find(option);
      if (found != context.options.end() && !found->second.empty()) path = found->second;
    };
    told("proc-root", roots.proc);
    told("sys-root", roots.sys);
    return roots;
  }

  IrqRoots roots_;
  Topology topology_;
};

}  // namespace

std::optional<double> parse_link_speed(std::string_view text) {
  const std::string_view word = trim(text).substr(0, trim(text).find(' '));
  double value = 0;
  const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (word.empty() || error != std::errc{} || stop != word.data() + word.size() || value <= 0) return std::nullopt;
  return value;
}

void add_nvml(const std::vector<NvmlGpu>& gpus, Topology& topology) {
  for (const NvmlGpu& gpu : gpus) {
    auto device = std::find_if(topology.devices.begin(), topology.devices.end(), [&](const HostDevice& one) {
      return one.kind == DeviceKind::gpu && one.address == gpu.address;
    });
    if (device == topology.devices.end())
      device = topology.devices.insert(device, {DeviceKind::gpu, gpu.address, gpu.address, {}, {}, ""});
    device->model = gpu.model;
    device->nvlinks = gpu.nvlinks;
    device->nvlinks_active = gpu.nvlinks_active;
    if (device->link.max_width) continue;  // sysfs told
    const auto speed = [](const std::optional<int>& generation) {
      return generation ? pcie_lane_speed(*generation) : std::nullopt;
    };
    device->link = {speed(gpu.generation), speed(gpu.max_generation), gpu.width, gpu.max_width};
  }
}

namespace {

// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.161.08  Sat Feb 24 …": the first word with two dots or one.
std::string driver_version(const std::string& text) {
  for (const std::string_view word : split_words(std::string_view(text).substr(0, text.find('\n')))) {
    const bool number = word.find_first_not_of("0123456789.") == std::string_view::npos;
    if (number && word.find('.') != std::string_view::npos) return std::string(word);
  }
  return {};
}

// Sockets that poll their queue take packets that raise no interrupt, on the CPU of the thread that reads.
std::string busy_polling(const fs::path& settings) {
  const auto poll = read_number(settings / "busy_poll"), read = read_number(settings / "busy_read");
  if (!poll || !read) return "";
  return *poll == 0 && *read == 0 ? "off" : fmt::format("poll {} µs, read {} µs", *poll, *read);
}

}  // namespace

Topology read_topology(const IrqRoots& roots) {
  Topology topology;
  topology.gpu_driver = driver_version(read_line(roots.proc / "driver/nvidia/version"));
  add_nics(roots.sys, topology);
  add_rdma(roots.sys, topology);
  add_gpus(roots.sys, topology);
  for (const fs::path& node : entries(roots.sys / "devices/system/node")) {
    const std::string name = node.filename().string();
    topology.numa_nodes += name.starts_with("node") && parse_unsigned(name.substr(4)) ? 1 : 0;
  }
  std::set<std::string> governors, owners;
  for (const fs::path& cpu : entries(roots.sys / "devices/system/cpu"))
    if (const std::string governor = read_line(cpu / "cpufreq/scaling_governor"); !governor.empty())
      governors.insert(governor);
  for (const std::int64_t pid : numbered_folders(roots.proc))
    if (const std::string name = read_line(roots.proc / std::to_string(pid) / "comm");
        name == "irqbalance" || name == "tuned" || name == "crio")
      owners.insert(name);
  topology.governors.assign(governors.begin(), governors.end());
  topology.irq_owners.assign(owners.begin(), owners.end());
  topology.busy_polling = busy_polling(roots.proc / "sys/net/core");
  return topology;
}

namespace {

// Whether DMA of GPUs and RDMA devices is translated on its way; peers then reach each other through the root complex.
void add_iommu(const Topology& topology, RecordingParts& parts) {
  std::string word;
  for (const HostDevice& device : topology.devices) {
    if (device.kind == DeviceKind::nic || device.address.empty()) continue;
    const bool translated = device.iommu.starts_with("DMA");
    if (translated)
      word = "translates";
    else if (word.empty() || (word == "off" && !device.iommu.empty()))
      word = device.iommu.empty() ? "off" : "passes through";
  }
  if (!word.empty()) parts.facts["topology.iommu"] = word;
}

// Whether switches let GPUs and RDMA devices write to each other; no word where one of them may not be read.
void add_acs(const Topology& topology, RecordingParts& parts) {
  std::vector<std::string> redirecting;
  bool known = true, any = false, switches = false;
  for (const HostDevice& device : topology.devices) {
    if (device.kind == DeviceKind::nic || device.address.empty()) continue;
    any = true;
    known &= device.acs.state != AcsPort::unknown;
    switches |= device.acs.state == AcsPort::open;
    if (device.acs.state == AcsPort::redirects) redirecting.push_back(device.acs.port + " above " + device.name);
  }
  if (!redirecting.empty()) {
    parts.facts["topology.acs"] = "redirects";
    parts.facts["topology.acs.where"] = join(redirecting, ", ");
  } else if (any && known) {
    parts.facts["topology.acs"] = switches ? "off" : "no switch";
  }
}

// Interfaces fast enough that the number of packets counts, with frames of the oldest size.
void add_mtu(const Topology& topology, RecordingParts& parts) {
  constexpr int kFastMegabits = 10'000, kOldestMtu = 1500;
  std::vector<std::string> fast, small;
  for (const HostDevice& device : topology.devices) {
    if (device.kind != DeviceKind::nic || !device.mtu || device.megabits.value_or(0) < kFastMegabits) continue;
    fast.push_back(device.name);
    if (*device.mtu <= kOldestMtu)
      small.push_back(fmt::format("{}: {} bytes at {} Mb/s", device.name, *device.mtu, *device.megabits));
  }
  if (fast.empty()) return;
  parts.facts["topology.mtu"] = small.empty() ? "large" : "small on a fast link";
  if (!small.empty()) parts.facts["topology.mtu.where"] = join(small, "; ");
}

}  // namespace

void add_topology_parts(const Topology& topology, RecordingParts& parts) {
  add_iommu(topology, parts);
  add_acs(topology, parts);
  add_mtu(topology, parts);
  const auto number = [](const auto& value) { return value ? static_cast<double>(*value) : kNaN; };
  Series series{"topology",
                {"machine", "kind", "device", "address", "numa_node", "link_gts", "max_link_gts", "lanes", "max_lanes",
                 "port", "model", "nvlinks_active", "nvlinks"},
                {}};
  std::vector<std::string> degraded, models, nvlinks;
  bool told = false;  // by any link
  for (const HostDevice& device : topology.devices) {
    const char* kind = device.kind == DeviceKind::gpu ? "gpu" : device.kind == DeviceKind::rdma ? "rdma" : "nic";
    series.rows.push_back({machine_name(), kind, device.name, device.address, number(device.numa_node),
                           number(device.link.speed_gts), number(device.link.max_speed_gts), number(device.link.width),
                           number(device.link.max_width), device.port, device.model, number(device.nvlinks_active),
                           number(device.nvlinks)});
    if (!device.model.empty() && std::find(models.begin(), models.end(), device.model) == models.end())
      models.push_back(device.model);
    if (device.nvlinks)
      nvlinks.push_back(fmt::format("{}: {} of {} links up", device.name, *device.nvlinks_active, *device.nvlinks));
    told |= device.link.width.value_or(0) > 0 && device.link.max_width.has_value();
    if (device.link.narrow() || (device.link.slow() && device.kind != DeviceKind::gpu))
      degraded.push_back(link_text(device));
  }
  if (!series.rows.empty()) parts.series["topology"] = std::move(series);
  if (told) parts.facts["topology.narrow_links"] = degraded.empty() ? "none" : join(degraded, "; ");
  if (!models.empty()) parts.facts["topology.gpus"] = join(models, ", ");
  if (!nvlinks.empty()) parts.facts["topology.nvlink"] = join(nvlinks, "; ");
  if (!topology.gpu_driver.empty()) parts.facts["topology.gpu_driver"] = topology.gpu_driver;
  if (topology.numa_nodes > 0) parts.facts["topology.numa_nodes"] = std::to_string(topology.numa_nodes);
  if (!topology.governors.empty()) parts.facts["topology.governor"] = join(topology.governors, ", ");
  if (!topology.busy_polling.empty()) parts.facts["topology.busy_polling"] = topology.busy_polling;
  if (!topology.irq_owners.empty()) parts.facts["topology.irq_owners"] = join(topology.irq_owners, ", ");
}

std::unique_ptr<Collector> make_topology() { return std::make_unique<TopologyCollector>(); }

}  // namespace gradsync
