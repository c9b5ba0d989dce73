#include "collectors/host/irq_devices.h"

#include <optional>
#include <system_error>

#include "collectors/host/irq_files.h"

namespace gradsync {
namespace {

namespace fs = std::filesystem;

// The real folder behind a link, when it lies below `sys`: a copied tree may hold any link.
std::optional<fs::path> real_below(const fs::path& link, const fs::path& sys) {
  std::error_code error;
  const fs::path real = fs::canonical(link, error);
  if (error) return std::nullopt;
  const fs::path root = fs::canonical(sys, error);
  if (error) return std::nullopt;
  const fs::path relative = real.lexically_relative(root);
  if (relative.empty() || *relative.begin() == "..") return std::nullopt;
  return real;
}

std::optional<fs::path> ancestor_with_irqs(fs::path folder, const fs::path& sys) {
  std::error_code ignored;
  const fs::path root = fs::canonical(sys, ignored);
  for (; folder != root && folder.has_relative_path(); folder = folder.parent_path())
    if (fs::is_directory(folder / "msi_irqs", ignored)) return folder;
  return std::nullopt;
}

IrqDeviceKind kind_by_class(const fs::path& folder) {
  const std::string code = small_text(folder / "class").value_or("");
  if (code.starts_with("0x02")) return IrqDeviceKind::network;
  if (code.starts_with("0x01")) return IrqDeviceKind::storage;
  return IrqDeviceKind::other;
}

IrqDevice& find_or_read(const fs::path& folder, const fs::path& sys, std::map<std::string, IrqDevice>& devices) {
  const auto [found, is_new] = devices.try_emplace(folder.filename().string());
  IrqDevice& device = found->second;
  if (!is_new) return device;
  std::error_code ignored;
  device.label = found->first;
  device.path = folder.lexically_relative(fs::canonical(sys, ignored)).string();
  device.kind = kind_by_class(folder);
  device.local = small_cpu_list(folder / "local_cpulist").value_or(CpuList{});
  device.node = small_number(folder / "numa_node").value_or(-1);
  device.msi_irqs = numbers_in(folder / "msi_irqs");
  return device;
}

void read_bus(const fs::path& sys, const char* bus, std::map<std::string, IrqDevice>& devices) {
  const fs::path folder = sys / "bus" / bus / "devices";
  for (const std::string& name : names_in(folder)) {
    std::error_code ignored;
    const auto real = real_below(folder / name, sys);
    if (real && fs::is_directory(*real / "msi_irqs", ignored)) find_or_read(*real, sys, devices);
  }
}

void read_class(const fs::path& sys, const char* name, IrqDeviceKind kind, std::map<std::string, IrqDevice>& devices) {
  const fs::path folder = sys / "class" / name;
  for (const std::string& entry : names_in(folder)) {
    const auto real = real_below(folder / entry / "device", sys);
    const auto owner = real ? ancestor_with_irqs(*real, sys) : std::nullopt;
    if (!owner) continue;
    IrqDevice& device = find_or_read(*owner, sys, devices);
    device.kind = kind;
    if (kind == IrqDeviceKind::network) device.serves.push_back(entry);
  }
}

}  // namespace

std::map<std::string, IrqDevice> read_irq_devices(const fs::path& sys) {
  std::map<std::string, IrqDevice> devices;
  read_bus(sys, "pci", devices);
  read_bus(sys, "platform", devices);
  read_class(sys, "nvme", IrqDeviceKind::storage, devices);
  read_class(sys, "block", IrqDeviceKind::storage, devices);
  read_class(sys, "net", IrqDeviceKind::network, devices);
  read_class(sys, "infiniband", IrqDeviceKind::network, devices);
  return devices;
}

}  // namespace gradsync
