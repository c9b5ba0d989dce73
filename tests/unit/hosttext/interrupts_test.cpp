#include "src/hosttext/interrupts.h"

#include <doctest/doctest.h>

namespace gradsync {
namespace {

using Counts = std::vector<std::uint64_t>;

const InterruptRow& row(const InterruptSnapshot& snapshot, std::string_view id) {
  for (const InterruptRow& row : snapshot.rows)
    if (row.id == id) return row;
  FAIL("no row " << id);
  return snapshot.rows.front();
}

}  // namespace

TEST_CASE("one snapshot: CPU numbers with holes, chips old and new, rows for the machine") {
  const auto snapshots = parse_interrupts(
      "           CPU0       CPU2       CPU7\n"
      "  9:     398553       2320        824  IR-IO-APIC-fasteoi   acpi\n"
      " 16:          1          2          3  IR-IO-APIC  16-fasteoi   ehci_hcd:usb1, mmc0\n"
      " 28:          0          0         12 PCI-MSIX-0000:00:01.0   0-edge      virtio0-config\n"
      " 30:        100         22         12  IR-PCI-MSI 524288-edge\n"
      " 88:          7          0          0     GICv3  27 Level     arch_timer\n"
      "IPI0:         4          7          8  Rescheduling interrupts\n"
      "LOC: 4294967295          1 18446744073709551615   Local timer interrupts\n"
      "ERR:          3\n");
  REQUIRE(snapshots.size() == 1);
  const InterruptSnapshot& one = snapshots[0];
  CHECK(one.cpus == std::vector<int>{0, 2, 7});
  CHECK(row(one, "9").handlers == "acpi");
  CHECK(row(one, "16").handlers == "ehci_hcd:usb1, mmc0");
  CHECK(row(one, "16").counts == Counts{1, 2, 3});
  CHECK(row(one, "28").handlers == "virtio0-config");
  CHECK(row(one, "30").handlers.empty());
  CHECK(row(one, "88").handlers == "arch_timer");
  CHECK(row(one, "88").device);
  CHECK_FALSE(row(one, "IPI0").device);
  CHECK(row(one, "LOC").counts == Counts{4294967295, 1, 18446744073709551615u});
  CHECK(one.rows.size() == 7);
  CHECK(one.machine_rows == 1);
  CHECK(one.broken_rows == 0);
}

TEST_CASE("a machine with one CPU: every row has one number") {
  const auto snapshots = parse_interrupts("   CPU0\n 4:  12  IO-APIC  4-edge  ttyS0\nNMI:  0  Non-maskable\nERR:  0\n");
  REQUIRE(snapshots.size() == 1);
  CHECK(snapshots[0].rows.size() == 2);
  CHECK(snapshots[0].machine_rows == 1);
}

TEST_CASE("several snapshots, with and without a time before them; the last one is cut") {
  const auto snapshots = parse_interrupts(
      "Timestamp: 1795956262.5\n CPU0 CPU1\n 4: 1 2 chip eth0\n\n"
      "root@node7:~# cat /proc/interrupts\n CPU0 CPU1\n 4: 3 4 chip eth0\n"
      "Sun Nov 29 12:44:22 UTC 2026\n CPU0 CPU1\n 4: 5 6 chip eth0\n 5: 41\n");
  REQUIRE(snapshots.size() == 3);
  CHECK(snapshots[0].at == TimeStamp{StampKind::epoch, 1795956262.5});
  CHECK_FALSE(snapshots[1].at);
  CHECK(snapshots[2].at == TimeStamp{StampKind::time_of_day, 45862});
  CHECK_FALSE(snapshots[0].ends_broken);
  CHECK(snapshots[2].ends_broken);
  CHECK(snapshots[2].broken_rows == 1);
  CHECK(snapshots[2].rows.size() == 1);
}

TEST_CASE("what is no snapshot") {
  CHECK(parse_interrupts("").empty());
  CHECK(parse_interrupts("4: 1 2 chip eth0\n").empty());
  CHECK_FALSE(is_interrupts_header("CPU0 CPUx"));
  CHECK_FALSE(is_interrupts_header("CPU0 12"));
  CHECK_FALSE(is_interrupts_header(""));
  CHECK(is_interrupts_header("\tCPU0  CPU511 "));
  // Bytes of any kind in rows, and a name without end.
  const auto hostile = parse_interrupts("CPU0\n7: 1 c " + std::string(100000, 'x') + "\n\xff\xfe: 3\n:\n8:\n");
  REQUIRE(hostile.size() == 1);
  CHECK(hostile[0].rows.size() == 1);
  CHECK(hostile[0].rows[0].handlers.size() == 256);
}

}  // namespace gradsync
