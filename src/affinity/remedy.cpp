#include "src/affinity/remedy.h"

#include <fmt/format.h>

#include <algorithm>

namespace gradsync {
namespace {

constexpr const char* kPolicyFile = "/etc/gradsync-doctor/irqbalance-policy";

}  // namespace

Remedy remedy_against(const std::vector<IrqOwner>& owners, const std::vector<int>& irqs) {
  const auto named = [&](std::string_view name) {
    return std::find_if(owners.begin(), owners.end(), [&](const IrqOwner& owner) { return owner.name == name; });
  };
  const auto who = [](const IrqOwner& owner) { return fmt::format("{} (process {})", owner.name, owner.pid); };
  if (const auto owner = named("irqbalance"); owner != owners.end())
    return {who(*owner), "tell irqbalance to leave these interrupts alone; it goes on spreading the others",
            fmt::format("mkdir -p /etc/gradsync-doctor && cat >{} <<'END'\n{}END\nchmod 755 {}\n"
                        "IRQBALANCE_ARGS=\"--policyscript={}\"    # in /etc/default/irqbalance or "
                        "/etc/sysconfig/irqbalance; then restart it",
                        kPolicyFile, irqbalance_policy(irqs), kPolicyFile, kPolicyFile)};
  if (const auto owner = named("tuned"); owner != owners.end())
    return {who(*owner), "tuned places interrupts by its profile: set them there, or tell it to leave them",
            "irq_process=false    # in the [scheduler] section of a profile of your own"};
  if (!owners.empty())
    return {who(owners.front()), "it places interrupts by its own configuration: change them there", ""};
  return {"", "nobody who is known to place interrupts is running; look for who writes smp_affinity", ""};
}

std::string irqbalance_policy(const std::vector<int>& irqs) {
  if (irqs.empty()) return "#!/bin/sh\nexit 0\n";
  std::string alternatives;
  for (const int irq : irqs) alternatives += (alternatives.empty() ? "" : "|") + std::to_string(irq);
  return fmt::format(
      "#!/bin/sh\n# $1: path of the device, $2: number of the interrupt\ncase \"$2\" in\n"
      "  {}) echo ban=true ;;\nesac\nexit 0\n",
      alternatives);
}

}  // namespace gradsync
