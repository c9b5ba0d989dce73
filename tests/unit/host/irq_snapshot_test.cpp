#include "collectors/host/irq_snapshot.h"

#include <fstream>
#include <set>

#include "collectors/host/irq_interval.h"
#include "made_root.h"
#include "src/affinity/plan.h"

namespace gradsync {
namespace {

IrqRates rates_of(const MadeRoot& root) {
  const Result<IrqCounters> before = read_irq_counters(root.roots(), 0);
  root.after(10);
  const Result<IrqCounters> after = read_irq_counters(root.roots(), 10);
  REQUIRE(before);
  REQUIRE(after);
  return irq_interval(*before, *after, "here").rates;
}

TEST_CASE("a machine of two sockets: devices by msi_irqs, names, nodes, siblings, threads") {
  const MadeRoot root("big");
  const Result<IrqSnapshot> snapshot = read_irq_snapshot(root.roots(), {4000, 4999});
  REQUIRE(snapshot);
  CHECK(snapshot->online().size() == 96);
  CHECK(snapshot->cpus.at(50).node == 0);
  CHECK(snapshot->cpus.at(50).siblings == CpuList{2, 50});
  const IrqDevice& card = snapshot->devices.at("0000:1b:00.0");
  CHECK(card.label == "mlx5@0000:1b:00.0");
  CHECK(card.serves == std::vector<std::string>{"ens1f0", "mlx5_0"});
  CHECK(card.kind == IrqDeviceKind::network);
  CHECK(card.node == 0);
  CHECK(card.msi_irqs.size() == 17);
  CHECK(snapshot->devices.at("0000:31:00.0").kind == IrqDeviceKind::storage);
  CHECK(snapshot->lines.at(100).role == VectorRole::control);
  CHECK(snapshot->lines.at(101).role == VectorRole::queue);
  CHECK(snapshot->lines.at(101).effective == CpuList{0});
  CHECK(snapshot->lines.at(101).hwirq == "1");
  CHECK_FALSE(snapshot->lines.at(101).managed());
  CHECK(snapshot->lines.at(201).managed());
  REQUIRE(snapshot->threads.size() == 3);  // of 4000 and of its child
  CHECK(snapshot->threads[1].allowed == CpuList{2});
  CHECK(snapshot->threads[2].name == "loader");
  REQUIRE(snapshot->missing.size() == 1);
  CHECK(snapshot->missing[0] == "the threads of process 4999");
}

TEST_CASE("all queues on CPU 0 of a machine of two sockets are spread over the card's node, away from the training") {
  const MadeRoot root("big");
  const Result<IrqSnapshot> snapshot = read_irq_snapshot(root.roots(), {4000});
  REQUIRE(snapshot);
  const IrqPlan plan = plan_interrupts(*snapshot, rates_of(root), {});
  CHECK(plan.moves().size() >= 15);
  std::set<int> used;
  for (const IrqPlanLine& move : plan.moves()) {
    CAPTURE(move.irq);
    CHECK(move.irq >= 101);
    CHECK(move.irq <= 116);
    CHECK(contains(snapshot->devices.at("0000:1b:00.0").local, *move.to));
    CHECK(*move.to != 2);   // the communication thread
    CHECK(*move.to != 50);  // its SMT sibling
    used.insert(*move.to % 48);
  }
  CHECK(used.size() >= 15);  // a core each, not two threads of one
  REQUIRE(plan.devices.size() == 1);
  CHECK(plan.devices[0].predicted < 2);
  CHECK(plan.devices[0].busiest_over_mean == doctest::Approx(16));
}

TEST_CASE("64 CPUs of arm64: timers with numbers are left alone, what is spread stays") {
  const MadeRoot root("arm64");
  const Result<IrqSnapshot> snapshot = read_irq_snapshot(root.roots());
  REQUIRE(snapshot);
  CHECK(snapshot->devices.at("0000:01:00.0").label == "eth0");
  const IrqPlan plan = plan_interrupts(*snapshot, rates_of(root), {});
  CHECK(plan.moves().empty());
  for (const IrqPlanLine& line : plan.lines)
    CHECK(line.decision == (line.irq >= 50 && line.irq < 58 ? IrqDecision::stay : IrqDecision::leave));
}

TEST_CASE("offline CPUs and holes: nothing goes to a CPU that does not run") {
  const MadeRoot root("holes");
  const Result<IrqSnapshot> snapshot = read_irq_snapshot(root.roots());
  REQUIRE(snapshot);
  CHECK(snapshot->online() == CpuList{0, 2, 3, 6, 7});
  CHECK(snapshot->devices.at("0000:00:03.0").serves == std::vector<std::string>{"eth0"});  // up from virtio2
  CHECK(snapshot->lines.at(41).device == "eth1");                                          // by its name alone
  const IrqPlan plan = plan_interrupts(*snapshot, rates_of(root), {});
  CHECK_FALSE(plan.moves().empty());
  for (const IrqPlanLine& move : plan.moves()) CHECK(contains(snapshot->online(), *move.to));
}

TEST_CASE("a container: counts without placement, and what is missing is said") {
  const MadeRoot root("container");
  const Result<IrqSnapshot> snapshot = read_irq_snapshot(root.roots());
  REQUIRE(snapshot);
  CHECK(snapshot->online() == CpuList{0, 1});
  CHECK_FALSE(snapshot->lines.at(38).allowed);
  CHECK(snapshot->missing.size() == 2);
  const IrqPlan plan = plan_interrupts(*snapshot, {}, {});
  CHECK(plan.moves().empty());
  CHECK(plan.lines.at(0).reason == "its mask cannot be read");
}

TEST_CASE("no /proc/interrupts, or one that is no table, is an error") {
  CHECK_FALSE(read_irq_snapshot({"/nonexistent", "/nonexistent"}));
  const MadeRoot root("container");
  std::ofstream(root.roots().proc / "interrupts") << "no table\n";
  const Result<IrqSnapshot> snapshot = read_irq_snapshot(root.roots());
  REQUIRE_FALSE(snapshot);
  CHECK(snapshot.error().why == "it has no line of CPU names");
}

TEST_CASE("a link that leads out of a copied tree is not followed") {
  const MadeRoot root("container");
  std::filesystem::create_directories(root.roots().sys / "bus/pci/devices");
  std::filesystem::create_directory_symlink("/sys/devices/system", root.roots().sys / "bus/pci/devices/0000:00:01.0");
  const Result<IrqSnapshot> snapshot = read_irq_snapshot(root.roots());
  REQUIRE(snapshot);
  CHECK_FALSE(snapshot->devices.contains("system"));
}

}  // namespace
}  // namespace gradsync
