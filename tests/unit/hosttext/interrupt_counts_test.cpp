#include "src/hosttext/interrupt_counts.h"

#include <doctest/doctest.h>

namespace gradsync {
namespace {

InterruptCounts counts_of(const std::string& text) {
  InterruptCounts counts;
  for (const InterruptSnapshot& snapshot : parse_interrupts(text)) counts.add(snapshot);
  return counts;
}

// "16/2:30" = interrupt 16 on CPU 2, 30 times.
std::vector<std::string> lines(const std::vector<InterruptCount>& counts) {
  std::vector<std::string> lines;
  for (const InterruptCount& c : counts)
    lines.push_back(c.id + "/" + std::to_string(c.cpu) + ":" + std::to_string(c.count));
  return lines;
}
using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("between two snapshots: differences of each CPU, and the interval of their stamps") {
  const InterruptCounts counts = counts_of(
      "1795956262\n CPU0 CPU2\n 16: 10 200 c eth0-TxRx-0\nLOC: 5 5 Local\n"
      "1795956272\n CPU0 CPU2\n 16: 10 230 c eth0-TxRx-0\nLOC: 9 5 Local\n");
  CHECK(lines(counts.between()) == Lines{"16/2:30", "LOC/0:4"});
  CHECK(counts.seconds() == doctest::Approx(10));
  CHECK(counts.backwards() == 0);
}

TEST_CASE("counters that wrap at 32 bits, and counters that began anew") {
  const InterruptCounts counts = counts_of(
      " CPU0 CPU1\n 16: 4294967290 0 c eth0-TxRx-0\n 17: 1000 0 c eth0-TxRx-1\n"
      " CPU0 CPU1\n 16: 4 0 c eth0-TxRx-0\n 17: 3 0 c eth0-TxRx-1\n");
  CHECK(lines(counts.between()) == Lines{"16/0:10", "17/0:0"});
  CHECK(counts.wrapped() == 1);
  CHECK(counts.backwards() == 1);
  CHECK_FALSE(counts.seconds());
}

TEST_CASE("a line, a handler or a CPU that is new counts from there on, not from its boot") {
  const InterruptCounts counts = counts_of(
      " CPU0\n 16: 5 c eth0-TxRx-0\n 18: 900 c usb1, mmc0\n"
      " CPU0 CPU1\n 16: 6 7000 c eth0-TxRx-0\n 17: 800 0 c eth0-TxRx-1\n 18: 901 0 c usb1\n"
      " CPU0 CPU1\n 16: 6 7001 c eth0-TxRx-0\n 17: 802 0 c eth0-TxRx-1\n 18: 904 0 c usb1\n");
  CHECK(lines(counts.between()) == Lines{"16/0:1", "16/1:1", "17/0:2", "18/0:3"});
}

TEST_CASE("a queue that did not come is owned by the CPU where it came most") {
  const InterruptCounts counts = counts_of(
      " CPU0 CPU1\n 16: 3 70 c nvme0q1\n 17: 9 0 c nvme0q0\n 18: 0 0 c nvme0q2\n"
      " CPU0 CPU1\n 16: 3 70 c nvme0q1\n 17: 9 0 c nvme0q0\n 18: 0 0 c nvme0q2\n");
  CHECK(lines(counts.between()) == Lines{"16/1:0"});
}

TEST_CASE("since boot: what one snapshot holds, and the lines that never came") {
  const InterruptCounts counts = counts_of(" CPU3 CPU9\n 16: 3 70 c nvme0q1\n 17: 0 0 c nvme0q0\n");
  CHECK(lines(counts.since_boot()) == Lines{"16/3:3", "16/9:70", "17/3:0"});
  CHECK(counts.snapshots() == 1);
  CHECK(counts.cpus() == 2);
}

}  // namespace gradsync
