#include "src/affinity/restore.h"

#include <doctest/doctest.h>

#include <cerrno>

#include "fake_kernel.h"

namespace gradsync {
namespace {

SavedIrq saved_on_1() { return {38, "virtio2-input.0", "1", "PCI-MSIX", "eth0", {0, 1}, CpuList{1}, {}, -1, {0}}; }

FakeKernel moved_to_0() {
  FakeKernel kernel;
  kernel.lines[38].allowed = {0};
  kernel.lines[38].effective = {0};
  return kernel;
}

TEST_CASE("the old CPU first, then the old mask: the placement comes back as well") {
  FakeKernel kernel = moved_to_0();
  const auto outcomes = restore_interrupts({saved_on_1()}, kernel);
  CHECK(kernel.written == std::vector<std::string>{"38=1", "38=0-1"});
  CHECK(kernel.lines[38].effective == CpuList{1});
  CHECK(outcomes.at(0).state == IrqState::restored);
  CHECK(outcomes.at(0).says.empty());
}

TEST_CASE("where none comes the mask is back and the CPU is said") {
  FakeKernel kernel = moved_to_0();
  kernel.lines[38].per_wait = 0;
  const auto outcomes = restore_interrupts({saved_on_1()}, kernel);
  CHECK(kernel.lines[38].allowed == CpuList{0, 1});
  CHECK(outcomes.at(0).state == IrqState::restored);
  CHECK(outcomes.at(0).says.find("has not moved it back to CPU 1") != std::string::npos);
}

TEST_CASE("a mask of somebody else is left alone, unless it is forced") {
  FakeKernel kernel = moved_to_0();
  kernel.lines[38].allowed = {2};
  CHECK(restore_interrupts({saved_on_1()}, kernel).at(0).state == IrqState::left);
  CHECK(kernel.written.empty());
  RestoreOptions force;
  force.take_over = true;
  CHECK(restore_interrupts({saved_on_1()}, kernel, force).at(0).state == IrqState::restored);
}

TEST_CASE("a refused mask is a failure with its line to type; a signal only ends the waiting") {
  FakeKernel kernel = moved_to_0();
  kernel.lines[38].error = EROFS;
  const auto refused = restore_interrupts({saved_on_1()}, kernel);
  CHECK(refused.at(0).state == IrqState::failed);
  CHECK(refused.at(0).command == "echo 0-1 >/proc/irq/38/smp_affinity_list");
  FakeKernel hurried = moved_to_0();
  hurried.stop_at = 0;
  restore_interrupts({saved_on_1()}, hurried);
  CHECK(hurried.lines[38].allowed == CpuList{0, 1});
}

TEST_CASE("another boot, or another interrupt of that number, is not undone") {
  IrqJournal journal;
  journal.boot_id = "boot-1";
  journal.irqs = {saved_on_1()};
  IrqSnapshot now;
  now.boot_id = "boot-1";
  now.lines[38].action = "virtio2-input.0";
  now.lines[38].hwirq = "1";
  CHECK_FALSE(why_not_restorable(journal, now));
  now.lines[38].hwirq = "2";
  CHECK(why_not_restorable(journal, now));
  now.lines[38] = {};
  now.lines[38].action = "nvme0q1";
  CHECK(why_not_restorable(journal, now)->why.find("it was virtio2-input.0 and is nvme0q1 now") == 0);
  now.lines.clear();
  CHECK(why_not_restorable(journal, now)->why.find("is gone now") != std::string::npos);
  now.boot_id = "boot-2";
  CHECK(why_not_restorable(journal, now)->why.find("booted since") != std::string::npos);
}

}  // namespace
}  // namespace gradsync
