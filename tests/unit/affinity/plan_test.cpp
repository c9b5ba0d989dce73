#include "src/affinity/plan.h"

#include <doctest/doctest.h>

#include "machines.h"

namespace gradsync {
namespace {

const IrqPlanLine& line_of(const IrqPlan& plan, int irq) {
  for (const IrqPlanLine& line : plan.lines)
    if (line.irq == irq) return line;
  FAIL("the plan lacks interrupt ", irq);
  return plan.lines.front();
}

TEST_CASE("busy queues on one CPU are spread, busiest first, a core each") {
  IrqSnapshot snapshot = machine(16, 1);
  IrqRates rates;
  add_device(snapshot, "eth0", 0);
  for (int q = 0; q < 4; ++q) add_queue(snapshot, rates, "eth0", 40 + q, 0, 1000 * (q + 1));
  const IrqPlan plan = plan_interrupts(snapshot, rates, {});
  CHECK(plan.moves().size() == 3);
  CHECK(line_of(plan, 43).decision == IrqDecision::stay);  // the busiest stays where it is
  CHECK(line_of(plan, 42).to == 1);                        // not on CPU 8, the sibling of CPU 0
  CHECK(line_of(plan, 41).to == 2);
  CHECK(line_of(plan, 40).to == 3);
  CHECK(line_of(plan, 40).reason == "CPU 0 serves 3 more of the device's queues");
  CHECK(plan.devices.at(0).busiest_over_mean == doctest::Approx(4));
  CHECK(plan.devices.at(0).predicted == doctest::Approx(1.6));
}

TEST_CASE("what is left alone, and why") {
  struct Case {
    const char* reason;
    void (*change)(IrqSnapshot&, IrqRates&);
  };
  for (const Case& c : {
           Case{"managed: the kernel itself spreads it, and refuses another CPU",
                [](IrqSnapshot&s, IrqRates&) { s.lines[40].mode = 0444; }},
           {"configuration or events, no queue",
            [](IrqSnapshot&s, IrqRates&) { s.lines[40].role = VectorRole::control; }},
           {"not known as a device's queue", [](IrqSnapshot&s, IrqRates&) { s.lines[40].role = VectorRole::other; }},
           {"a timer's or the CPUs' own", [](IrqSnapshot&s, IrqRates&) { s.lines[40].action = "arch_timer"; }},
           {"its mask cannot be read", [](IrqSnapshot&s, IrqRates&) { s.lines[40].allowed.reset(); }},
           {"a kernel thread runs its handler: place that thread",
            [](IrqSnapshot&s, IrqRates&) { s.lines[40].threaded = true; }},
           {"a realtime kernel: its threads are placed, not its interrupts",
            [](IrqSnapshot&s, IrqRates&) { s.realtime = true; }},
           {"crio (process 7) places interrupts here: change its configuration",
            [](IrqSnapshot&s, IrqRates&) {
              s.owners = {{7, "crio"}};
            }},
           {"tuned (process 8) places interrupts here: change its configuration",
            [](IrqSnapshot&s, IrqRates&) {
              s.owners = {{8, "tuned"}}, s.default_allowed = CpuList{0};
            }},
           {"a storage device: --device eth0 includes it",
            [](IrqSnapshot&s, IrqRates&) { s.devices["eth0"].kind = IrqDeviceKind::storage; }},
           {"99/s: below 100/s it costs too little to matter",
            [](IrqSnapshot&, IrqRates&r) {
              r.count[40] = {{0, 990}};
            }},
           {"no CPU is left: online, allowed and not isolated at once",
            [](IrqSnapshot&s, IrqRates&) {
              for (auto& [number, cpu] : s.cpus) cpu.isolated = true;
            }},
       }) {
    CAPTURE(c.reason);
    IrqSnapshot snapshot = machine(4, 1);
    IrqRates rates;
    add_device(snapshot, "eth0", 0);
    add_queue(snapshot, rates, "eth0", 40, 0, 5000);
    c.change(snapshot, rates);
    const IrqPlan plan = plan_interrupts(snapshot, rates, {});
    CHECK(plan.lines.at(0).decision == IrqDecision::leave);
    CHECK(plan.lines.at(0).reason == c.reason);
  }
}

TEST_CASE("irqbalance, and tuned without isolated CPUs, are no owners of all interrupts") {
  IrqSnapshot snapshot = machine(8, 1);
  IrqRates rates;
  add_device(snapshot, "eth0", 0);
  add_queue(snapshot, rates, "eth0", 40, 0, 5000);
  add_queue(snapshot, rates, "eth0", 41, 0, 5000);
  snapshot.owners = {{7, "irqbalance"}, {8, "tuned"}};
  snapshot.default_allowed = snapshot.online();
  CHECK(plan_interrupts(snapshot, rates, {}).moves().size() == 1);
}

TEST_CASE("an interrupt goes away from a training thread, from an isolated CPU, from another node") {
  IrqSnapshot snapshot = machine(16, 2);
  IrqRates rates;
  add_device(snapshot, "eth0", 0);
  add_queue(snapshot, rates, "eth0", 40, 1, 5000);
  add_queue(snapshot, rates, "eth0", 41, 2, 5000);
  add_queue(snapshot, rates, "eth0", 42, 7, 5000);
  snapshot.threads = {{1, 11, "nccl-proxy", {1}}};
  snapshot.cpus[2].isolated = true;
  const IrqPlan plan = plan_interrupts(snapshot, rates, {});
  CHECK(line_of(plan, 40).reason == "CPU 1 runs training thread 11 (nccl-proxy)");
  CHECK(line_of(plan, 41).reason == "CPU 2 is isolated");
  CHECK(line_of(plan, 42).reason == "CPU 7 is on node 1, the device on node 0");
  for (const IrqPlanLine& move : plan.moves()) CHECK(contains({0, 3, 8, 10, 11}, *move.to));
}

TEST_CASE("what would gain under 10 % stays") {
  IrqSnapshot snapshot = machine(4, 1);
  IrqRates rates;
  add_device(snapshot, "eth0", 0);
  add_queue(snapshot, rates, "eth0", 40, 0, 1000);
  add_queue(snapshot, rates, "eth0", 41, 1, 1050);
  const IrqPlan plan = plan_interrupts(snapshot, rates, {});
  CHECK(plan.moves().empty());
  CHECK(line_of(plan, 40).decision == IrqDecision::stay);
}

TEST_CASE("rx and tx of one queue stay together") {
  IrqSnapshot snapshot = machine(8, 1);
  IrqRates rates;
  add_device(snapshot, "eth0", 0);
  for (int q = 0; q < 2; ++q)
    for (int side = 0; side < 2; ++side)
      add_queue(snapshot, rates, "eth0", 40 + 2 * q + side, 0, 3000).action =
          std::string("virtio2-") + (side == 0 ? "input." : "output.") + std::to_string(q);
  const IrqPlan plan = plan_interrupts(snapshot, rates, {});
  CHECK(line_of(plan, 40).to == line_of(plan, 41).to);
  CHECK(line_of(plan, 42).to == line_of(plan, 43).to);
  CHECK(plan.moves().size() == 2);
}

TEST_CASE("a named interrupt moves to the named CPU however seldom it comes, a managed one does not") {
  IrqSnapshot snapshot = machine(2, 1);
  IrqRates rates;
  add_device(snapshot, "eth0", 0);
  add_queue(snapshot, rates, "eth0", 40, 1, 0.5);
  add_queue(snapshot, rates, "eth0", 41, 1, 5000).mode = 0444;
  IrqPlanOptions options;
  options.irqs = {40, 41};
  options.cpus = CpuList{0};
  const IrqPlan plan = plan_interrupts(snapshot, rates, options);
  REQUIRE(plan.moves().size() == 1);
  CHECK(plan.moves()[0].irq == 40);
  CHECK(plan.moves()[0].to == 0);
  CHECK(plan.moves()[0].reason == "CPU 1 is not one of --cpus");
}

TEST_CASE("names that nothing has") {
  IrqSnapshot snapshot = machine(2, 1);
  IrqRates rates;
  add_device(snapshot, "eth0", 0);
  add_queue(snapshot, rates, "eth0", 40, 1, 1);
  IrqPlanOptions options;
  options.devices = {"eth0", "eth7"};
  options.irqs = {40, 99};
  CHECK(unknown_names(snapshot, options) == std::vector<std::string>{"eth7", "99"});
}

TEST_CASE("of any machine: nothing leaves its node, nothing managed moves, planning the planned moves nothing") {
  std::size_t moved = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    CAPTURE(seed);
    IrqSnapshot snapshot;
    IrqRates rates;
    any_machine(seed, snapshot, rates);
    const IrqPlan plan = plan_interrupts(snapshot, rates, {});
    for (const IrqPlanLine& line : plan.lines) CHECK_FALSE(line.reason.empty());
    for (const IrqPlanLine& move : plan.moves()) {
      const IrqLine& line = snapshot.lines.at(move.irq);
      CHECK_FALSE(line.managed());
      CHECK(line.role == VectorRole::queue);
      CHECK(move.to != move.from);
      CHECK(contains(snapshot.devices.at(line.device).local, *move.to));
      CHECK(snapshot.cpus.at(*move.to).online);
      CHECK_FALSE(snapshot.cpus.at(*move.to).isolated);
    }
    moved += plan.moves().size();
    carry_out(plan, snapshot, rates);
    CHECK(plan_interrupts(snapshot, rates, {}).moves().empty());
  }
  CHECK(moved > 1000);  // else the machines are too tame to show anything
}

}  // namespace
}  // namespace gradsync
