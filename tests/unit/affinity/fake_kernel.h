// A kernel of the test: masks take effect with the next interrupt, some writes fail, and time passes at once.
#pragma once

#include <functional>
#include <string>

#include "src/affinity/kernel.h"

namespace gradsync {

class FakeKernel final : public IrqKernel {
 public:
  struct Line {
    CpuList allowed, effective;
    std::map<int, double> came;
    double per_wait = 1;  // interrupts during each wait; 0: it never comes
    std::map<int, int> error_of_cpu;
    int error = 0;
  };
  std::map<int, Line> lines;
  std::vector<std::string> written;  // "38=0"
  std::vector<IrqOwner> placing;
  std::function<void(int)> on_wait = [](int) {};
  int waits = 0, stop_at = -1;  // the wait that a signal ends

  int forbidden = 0;  // errno of may_write

  int may_write(int) override { return forbidden; }
  int write_allowed(int irq, const CpuList& cpus) override {
    Line& line = lines[irq];
    if (line.error != 0) return line.error;
    if (const auto error = line.error_of_cpu.find(cpus.front()); error != line.error_of_cpu.end()) return error->second;
    line.allowed = cpus;
    written.push_back(std::to_string(irq) + "=" + format_cpu_list(cpus));
    return 0;
  }
  std::optional<CpuList> allowed(int irq) override { return lines[irq].allowed; }
  std::optional<CpuList> effective(int irq) override { return lines[irq].effective; }
  std::map<int, std::map<int, double>> counts(const std::vector<int>& irqs) override {
    std::map<int, std::map<int, double>> all;
    for (const int irq : irqs) all[irq] = lines[irq].came;
    return all;
  }
  std::vector<IrqOwner> owners() override { return placing; }
  Waited wait(std::chrono::milliseconds) override {
    const int number = waits++;
    if (number == stop_at) return Waited::interrupted;
    for (auto& [irq, line] : lines) {
      if (line.per_wait <= 0) continue;
      line.came[line.effective.front()] += 1;  // the first comes where it came, and moves it
      if (common(line.effective, line.allowed) != line.effective) line.effective = {line.allowed.front()};
      line.came[line.effective.front()] += line.per_wait - 1;
    }
    on_wait(number);
    return Waited::full;
  }
};

}  // namespace gradsync
