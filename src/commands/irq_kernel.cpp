#include "src/commands/irq_kernel.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "collectors/host/irq_files.h"
#include "src/base/file.h"
#include "src/hosttext/interrupts.h"

namespace gradsync {

LiveIrqKernel::LiveIrqKernel(IrqRoots roots) : roots_(std::move(roots)) {
  sigemptyset(&stopping_);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&stopping_, number);
  ::pthread_sigmask(SIG_BLOCK, &stopping_, &before_);
}

LiveIrqKernel::~LiveIrqKernel() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

int LiveIrqKernel::may_write(int irq) {
  const std::filesystem::path path = roots_.proc / "irq" / std::to_string(irq) / "smp_affinity_list";
  return ::access(path.c_str(), W_OK) == 0 ? 0 : errno;
}

int LiveIrqKernel::write_allowed(int irq, const CpuList& cpus) {
  const std::filesystem::path path = roots_.proc / "irq" / std::to_string(irq) / "smp_affinity_list";
  const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file) return errno;
  const std::string text = format_cpu_list(cpus) + "\n";
  ssize_t put = -1;
  do put = ::write(file.get(), text.data(), text.size());
  while (put < 0 && errno == EINTR);
  return put < 0 ? errno : 0;
}

std::optional<CpuList> LiveIrqKernel::allowed(int irq) {
  return small_cpu_list(roots_.proc / "irq" / std::to_string(irq) / "smp_affinity_list");
}

std::optional<CpuList> LiveIrqKernel::effective(int irq) {
  return small_cpu_list(roots_.proc / "irq" / std::to_string(irq) / "effective_affinity_list");
}

std::map<int, std::map<int, double>> LiveIrqKernel::counts(const std::vector<int>& irqs) {
  std::map<int, std::map<int, double>> counts;
  const Result<std::string> text = read_file(roots_.proc / "interrupts", std::size_t{64} << 20);
  if (!text) return counts;
  for (const InterruptSnapshot& snapshot : parse_interrupts(*text))
    for (const InterruptRow& row : snapshot.rows) {
      const int irq = std::atoi(row.id.c_str());
      if (!row.device || std::find(irqs.begin(), irqs.end(), irq) == irqs.end()) continue;
      for (std::size_t i = 0; i < row.counts.size(); ++i)
        counts[irq][snapshot.cpus[i]] = static_cast<double>(row.counts[i]);
    }
  return counts;
}

std::vector<IrqOwner> LiveIrqKernel::owners() {
  const Result<IrqSnapshot> now = read_irq_snapshot(roots_);
  return now ? now->owners : std::vector<IrqOwner>();
}

Waited LiveIrqKernel::wait(std::chrono::milliseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(end - std::chrono::steady_clock::now());
    const auto wanted = std::max<std::int64_t>(0, left.count());
    const timespec limit{static_cast<time_t>(wanted / 1'000'000'000), static_cast<long>(wanted % 1'000'000'000)};
    const int number = ::sigtimedwait(&stopping_, nullptr, &limit);
    if (number > 0) {
      signal_ = number;
      return Waited::interrupted;
    }
    if (errno != EINTR) return Waited::full;
  }
}

}  // namespace gradsync
