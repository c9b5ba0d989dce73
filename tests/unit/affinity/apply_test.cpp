#include "src/affinity/apply.h"

#include <doctest/doctest.h>

#include <cerrno>

#include "fake_kernel.h"

namespace gradsync {
namespace {

struct Scene {
  FakeKernel kernel;
  std::vector<IrqPlanLine> moves;
  std::vector<SavedIrq> saved;

  void add(int irq, const std::string& device) {
    kernel.lines[irq].allowed = {0, 1, 2, 3};
    kernel.lines[irq].effective = {0};
    IrqPlanLine move;
    move.irq = irq;
    move.device = device;
    move.decision = IrqDecision::move;
    move.to = 1;
    move.instead = {2, 3};
    moves.push_back(move);
    saved.push_back({irq, "", "", "", device, {0, 1, 2, 3}, CpuList{0}, {}, -1, {1}});
  }
};

TEST_CASE("masks are written and read back") {
  Scene scene;
  scene.add(40, "eth0");
  scene.add(41, "eth0");
  const Applied applied = apply_moves(scene.moves, scene.saved, scene.kernel);
  CHECK(applied.outcomes.at(0).state == IrqState::written);
  CHECK(applied.outcomes.at(1).state == IrqState::written);
  CHECK(scene.kernel.written == std::vector<std::string>{"40=1", "41=1"});
  CHECK_FALSE(applied.stopped);
}

TEST_CASE("a managed one is skipped and fails nothing") {
  for (const int error : {EPERM, EIO}) {
    Scene scene;
    scene.add(40, "eth0");
    scene.add(41, "eth0");
    scene.kernel.lines[40].error = error;
    const Applied applied = apply_moves(scene.moves, scene.saved, scene.kernel);
    CHECK(applied.outcomes.at(0).state == IrqState::skipped);
    CHECK(applied.outcomes.at(1).state == IrqState::written);
  }
}

TEST_CASE("a CPU without free vectors: the next one, and of three none is a failure") {
  Scene scene;
  scene.add(40, "eth0");
  scene.kernel.lines[40].error_of_cpu = {{1, ENOSPC}};
  const Applied next = apply_moves(scene.moves, scene.saved, scene.kernel);
  CHECK(next.outcomes.at(0).state == IrqState::written);
  CHECK(next.outcomes.at(0).wanted == CpuList{2});
  CHECK(next.outcomes.at(0).says == "CPU 1 has no interrupt vector left: CPU 2 instead");
  CHECK(scene.saved.at(0).written == CpuList{2});
  scene.kernel.lines[40].error = ENOSPC;
  CHECK(apply_moves(scene.moves, scene.saved, scene.kernel).outcomes.at(0).state == IrqState::failed);
}

TEST_CASE("when one fails its device is put back, and others are not touched") {
  for (const int error : {EINVAL, ERANGE, ENOENT, EBUSY}) {
    CAPTURE(error);
    Scene scene;
    scene.add(40, "eth0");
    scene.add(41, "eth0");
    scene.add(42, "eth0");
    scene.add(50, "eth1");
    scene.kernel.lines[41].error = error;
    const Applied applied = apply_moves(scene.moves, scene.saved, scene.kernel);
    CHECK(applied.outcomes.at(0).state == IrqState::restored);
    CHECK(applied.outcomes.at(0).says == "put back: interrupt 41 failed");
    CHECK(applied.outcomes.at(1).state == IrqState::failed);
    CHECK(applied.outcomes.at(2).state == IrqState::failed);
    CHECK(applied.outcomes.at(3).state == IrqState::written);
    CHECK(scene.kernel.lines[40].allowed == CpuList{0, 1, 2, 3});
    CHECK(applied.cpu_gone == (error == EINVAL || error == ERANGE));
    CHECK_FALSE(applied.stopped);
  }
}

TEST_CASE("each refusal reaches the outcome with its sentence and its command") {
  struct Case {
    int error;
    const char *says, *command;
  };
  for (const Case& c :
       {Case{EPERM, "managed: the kernel spreads it itself", "cat /proc/irq/40/effective_affinity_list"},
        {ENOSPC, "CPU 3 has no interrupt vector left", "ethtool -L INTERFACE combined N"},
        {ERANGE, "CPU 1 is not online any more", "cat /sys/devices/system/cpu/online"},
        {EROFS, "/proc/irq is read-only here, as in a container", "run it on the host"},
        {EACCES, "only uid 0 of the host may change it", "sudo sh -c 'echo 1 >/proc/irq/40/smp_affinity_list'"},
        {ENOENT, "interrupt 40 is gone", "gradsync-doctor irq"}}) {
    CAPTURE(c.error);
    Scene scene;
    scene.add(40, "eth0");
    scene.kernel.lines[40].error = c.error;
    const IrqOutcome outcome = apply_moves(scene.moves, scene.saved, scene.kernel).outcomes.at(0);
    CHECK(outcome.says.find(c.says) != std::string::npos);
    CHECK(outcome.command.find(c.command) != std::string::npos);
  }
}

TEST_CASE("read-only and not permitted stop everything") {
  for (const int error : {EROFS, EACCES}) {
    Scene scene;
    scene.add(40, "eth0");
    scene.add(50, "eth1");
    scene.kernel.lines[40].error = error;
    const Applied applied = apply_moves(scene.moves, scene.saved, scene.kernel);
    CHECK(applied.stopped);
    CHECK(applied.outcomes.size() == 1);
    CHECK(scene.kernel.written.empty());
  }
}

}  // namespace
}  // namespace gradsync
