// Which device raises which interrupt: by msi_irqs, wherever the driver's names lead.
//
//   /sys/class/net/eth0/device → ../../../virtio2              a child: walk up
//   /sys/devices/pci0000:00/0000:00:03.0/msi_irqs/{37,38,39}   the first ancestor with msi_irqs owns them
//
// A network device of two PCI functions (multi-PF) is two devices here: locality is that of each function.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "src/model/irq_snapshot.h"

namespace gradsync {

// By key (the device's folder name: a PCI address). Labels are set from the interrupts' names later.
std::map<std::string, IrqDevice> read_irq_devices(const std::filesystem::path& sys);

}  // namespace gradsync
