// /proc/interrupts, once or several times in one text:
//
//              CPU0       CPU2                                          the CPUs that are online; numbers may have holes
//    24:          1          0  IO-APIC   5-edge      ACPI:Ged          number, counts, chip, its line, who handles it
//    88:        412          0  GIC  27 Level  eth0, mmc0               several share it
//   LOC:    2284122    4734160   Local timer interrupts                 the CPU's own: timer, IPIs, errors
//   ERR:          0                                                     one number for the whole machine
//
// Lines between snapshots may hold a time (time_stamp.h). Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/hosttext/time_stamp.h"

namespace gradsync {

struct InterruptRow {
  std::string id;                     // "24", "LOC", "IPI0"
  bool device = false;                // a number: an interrupt line; else the CPU's own
  std::string handlers;               // "eth0-TxRx-3"; "ehci_hcd:usb1, mmc0"; of the CPU's own: what it says there
  std::vector<std::uint64_t> counts;  // by position in the snapshot's cpus
};

struct InterruptSnapshot {
  std::vector<int> cpus;
  std::vector<InterruptRow> rows;  // those of one number for the whole machine are left out
  std::optional<TimeStamp> at;
  std::int64_t machine_rows = 0;  // with one number for the whole machine (ERR, MIS)
  std::int64_t broken_rows = 0;   // with fewer numbers than CPUs, or more
  bool ends_broken = false;       // the last row is one of those: the text was cut there
};

// Line by line; one snapshot in memory at a time.
class InterruptsParser {
 public:
  // The snapshot that this line ended (by beginning the next one), if any.
  std::optional<InterruptSnapshot> add_line(std::string_view line);
  // The last one. The parser is empty afterwards.
  std::optional<InterruptSnapshot> finish();

 private:
  void add_row(std::string_view line);

  std::optional<InterruptSnapshot> open_;
  std::optional<TimeStamp> stamp_;  // seen since the last row
};

// A line of CPU names and nothing else.
bool is_interrupts_header(std::string_view line);

// All snapshots of a text; for short ones.
std::vector<InterruptSnapshot> parse_interrupts(std::string_view text);

}  // namespace gradsync
