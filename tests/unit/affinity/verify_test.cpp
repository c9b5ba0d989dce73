#include "src/affinity/verify.h"

#include <doctest/doctest.h>

#include "fake_kernel.h"

namespace gradsync {
namespace {

using std::chrono::milliseconds;

TEST_CASE("the state of one line") {
  struct Case {
    const char* what;
    IrqSeen seen;
    IrqState state;
  };
  for (const Case& c : {
           Case{"nothing came: the kernel has not moved it", {CpuList{1}, CpuList{0}, {}}, IrqState::pending},
           {"it says so, and nothing came since", {CpuList{1}, CpuList{1}, {}}, IrqState::moved},
           {"the first still comes where it was", {CpuList{1}, CpuList{1}, {{0, 1}}}, IrqState::moved},
           {"9 of 10 come there", {CpuList{1}, CpuList{1}, {{0, 1}, {1, 9}}}, IrqState::moved},
           {"half of them come elsewhere", {CpuList{1}, CpuList{1}, {{0, 5}, {1, 5}}}, IrqState::written},
           {"they come, and it stays", {CpuList{1}, CpuList{0}, {{0, 5}}}, IrqState::written},
           {"a kernel without effective masks", {CpuList{1}, std::nullopt, {{1, 5}}}, IrqState::moved},
           {"a kernel without effective masks, nothing came", {CpuList{1}, std::nullopt, {}}, IrqState::pending},
           {"another mask", {CpuList{0, 1}, CpuList{1}, {}}, IrqState::reverted},
           {"no mask", {std::nullopt, std::nullopt, {}}, IrqState::reverted},
       }) {
    CAPTURE(c.what);
    CHECK(judge_line({1}, c.seen, IrqState::pending) == c.state);
  }
}

std::vector<IrqOutcome> written_to_1(FakeKernel& kernel) {
  kernel.lines[40].allowed = {1};
  kernel.lines[40].effective = {0};
  return {{40, "", "eth0", {1}, IrqState::written, "", ""}};
}

TEST_CASE("one that comes has moved, one that does not is pending") {
  FakeKernel busy, idle;
  auto outcomes = written_to_1(busy);
  CHECK(verify_moves(outcomes, busy, milliseconds(5000)) == Waited::full);
  CHECK(outcomes[0].state == IrqState::moved);
  CHECK(busy.waits <= 2);
  outcomes = written_to_1(idle);
  idle.lines[40].per_wait = 0;
  CHECK(verify_moves(outcomes, idle, milliseconds(1000)) == Waited::full);
  CHECK(outcomes[0].state == IrqState::pending);
  CHECK(idle.waits == 4);
}

TEST_CASE("one whose interrupts stay has failed") {
  FakeKernel kernel;
  auto outcomes = written_to_1(kernel);
  kernel.lines[40].per_wait = 0;
  kernel.on_wait = [&](int) { kernel.lines[40].came[0] += 5; };
  verify_moves(outcomes, kernel, milliseconds(1000));
  CHECK(outcomes[0].state == IrqState::failed);
  CHECK(outcomes[0].says == "its interrupts still come on another CPU");
}

TEST_CASE("a mask that somebody changes later is reverted; a pending one that came meanwhile has moved") {
  FakeKernel kernel;
  std::vector<IrqOutcome> outcomes{{40, "", "eth0", {1}, IrqState::moved, "", ""},
                                   {41, "", "eth0", {1}, IrqState::pending, "waiting", ""}};
  kernel.lines[40].allowed = {0};
  kernel.lines[41].allowed = kernel.lines[41].effective = {1};
  look_for_reverts(outcomes, kernel);
  CHECK(outcomes[0].state == IrqState::reverted);
  CHECK(outcomes[0].says == "somebody set it to 0");
  CHECK(outcomes[1].state == IrqState::moved);
}

}  // namespace
}  // namespace gradsync
