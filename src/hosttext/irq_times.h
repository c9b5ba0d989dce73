// Time that CPUs spent in interrupt handlers, from the irq tracepoints in the order of time. Hard interrupts that come
// while a softirq runs are cut out of it. A pair of which one end lies outside the text is left out and counted.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "src/model/event.h"

namespace gradsync {

struct IrqTime {
  std::string id, handler;  // "32", "virtio0-rx"; of a softirq "NET_RX" and empty
  int cpu = 0;
  bool soft = false;
  std::int64_t count = 0;
  Nanoseconds time = 0;
};

// What a handler answered: on a line that devices share each is asked, and those whose interrupt it was not take time too.
enum class IrqAnswer { handled, not_mine };

class IrqTimes {
 public:
  void hard_entry(Nanoseconds at, int cpu, std::string_view irq, std::string_view handler);
  void hard_exit(Nanoseconds at, int cpu, std::string_view irq, IrqAnswer answer = IrqAnswer::handled);
  void soft_entry(Nanoseconds at, int cpu, std::string_view action);
  void soft_exit(Nanoseconds at, int cpu, std::string_view action);

  std::vector<IrqTime> all() const;
  std::int64_t unpaired() const;  // with what is still open

 private:
  struct Open {
    bool is_open = false;
    Nanoseconds since = 0;
    std::string id, handler;
  };
  struct Cpu {
    Open hard, soft;
    Nanoseconds hard_inside_soft = 0, last = 0;
  };
  Cpu* in_order(Nanoseconds at, int cpu);
  IrqTime* add(const Open& done, int cpu, bool soft, Nanoseconds time);

  std::map<int, Cpu> cpus_;
  std::map<std::tuple<bool, std::string, std::string, int>, IrqTime> times_;  // soft, id, handler, CPU
  std::int64_t unpaired_ = 0;
};

}  // namespace gradsync
