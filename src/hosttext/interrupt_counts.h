// What happened between snapshots of /proc/interrupts: differences of counters that wrap at 32 bits. A line or a CPU
// that is new in a snapshot counts from there: what it had before may be from any time since boot. Add snapshots in the
// order of time; two are kept in memory, however many there are.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "src/hosttext/interrupt_vectors.h"
#include "src/hosttext/interrupts.h"

namespace gradsync {

// One interrupt on one CPU. A line whose handler changed is another interrupt.
struct InterruptCount {
  std::string id, handlers;
  bool device = false;
  InterruptVector vector;  // of a device
  int cpu = 0;
  std::uint64_t count = 0;  // in the interval; since boot where there was one snapshot only
};

class InterruptCounts {
 public:
  void add(const InterruptSnapshot& snapshot);

  std::int64_t snapshots() const { return snapshots_; }
  std::size_t cpus() const { return cpus_.size(); }      // of the last snapshot
  std::optional<double> seconds() const;                 // from the first to the last; needs their stamps
  std::int64_t backwards() const { return backwards_; }  // counters that fell and did not wrap: left out
  std::int64_t wrapped() const { return wrapped_; }
  std::int64_t compared() const { return compared_; }  // counters above zero in either snapshot

  // Counts above zero, of the interval between first and last. A queue's interrupt that did not come in it has one
  // entry of 0, on the CPU where it has come most since boot: that CPU owns it.
  std::vector<InterruptCount> between() const;
  // Of the last snapshot, above zero; a line that never came has one entry of 0.
  std::vector<InterruptCount> since_boot() const;

 private:
  struct Line {
    bool device = false;
    std::map<int, std::uint64_t> last, sum;  // by CPU; zeros are left out
  };
  using Key = std::pair<std::string, std::string>;  // id, handlers
  void compare(Line& line, int cpu, std::uint64_t now);

  std::map<Key, Line> lines_;
  std::int64_t snapshots_ = 0, backwards_ = 0, wrapped_ = 0, compared_ = 0;
  std::set<int> cpus_;
  std::optional<TimeStamp> first_at_, last_at_;
};

}  // namespace gradsync
