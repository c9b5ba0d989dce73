#include "src/affinity/refusal.h"

#include <fmt/format.h>

#include <cerrno>

#include "src/base/file.h"

namespace gradsync {

Refusal explain_refusal(int error, int irq, const CpuList& wanted) {
  const std::string cpus = format_cpu_list(wanted);
  switch (error) {
    case EPERM:
    case EIO:  // what older kernels say
      return {RefusalKind::managed, "managed: the kernel spreads it itself and accepts no other CPU",
              fmt::format("cat /proc/irq/{}/effective_affinity_list", irq)};
    case ENOSPC:
      return {RefusalKind::cpu_full, fmt::format("CPU {} has no interrupt vector left", cpus),
              "fewer queues need fewer vectors: ethtool -L INTERFACE combined N"};
    case EINVAL:
    case ERANGE:
    case EOVERFLOW:
      return {RefusalKind::cpu_gone, fmt::format("CPU {} is not online any more", cpus),
              "cat /sys/devices/system/cpu/online"};
    case EROFS:
      return {RefusalKind::read_only, "/proc/irq is read-only here, as in a container",
              "run it on the host, or in a privileged container with /proc/irq writable"};
    case EACCES:
      return {RefusalKind::not_permitted, "only uid 0 of the host may change it",
              fmt::format("sudo sh -c 'echo {} >/proc/irq/{}/smp_affinity_list'", cpus, irq)};
    case ENOENT:
      return {RefusalKind::gone, fmt::format("interrupt {} is gone: its driver was reset", irq), "gradsync-doctor irq"};
    default:
      return {RefusalKind::other, errno_text(error), fmt::format("cat /proc/irq/{}/smp_affinity_list", irq)};
  }
}

}  // namespace gradsync
