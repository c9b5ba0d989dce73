#include "src/model/irq_snapshot.h"

#include <algorithm>

namespace gradsync {

const char* to_string(IrqDeviceKind kind) {
  switch (kind) {
    case IrqDeviceKind::network:
      return "network";
    case IrqDeviceKind::storage:
      return "storage";
    case IrqDeviceKind::other:
      break;
  }
  return "other";
}

CpuList IrqSnapshot::online() const {
  CpuList list;
  for (const auto& [number, cpu] : cpus)
    if (cpu.online) list.push_back(number);
  return list;
}

double IrqRates::per_second(int irq) const {
  const auto counted = count.find(irq);
  if (!seconds || *seconds <= 0 || counted == count.end()) return 0;
  double sum = 0;
  for (const auto& [cpu, interrupts] : counted->second) sum += interrupts;
  return sum / *seconds;
}

std::optional<int> IrqRates::busiest(int irq) const {
  const auto counted = count.find(irq);
  if (counted == count.end() || counted->second.empty()) return std::nullopt;
  const auto most = std::max_element(counted->second.begin(), counted->second.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most->second <= 0) return std::nullopt;
  return most->first;
}

}  // namespace gradsync
