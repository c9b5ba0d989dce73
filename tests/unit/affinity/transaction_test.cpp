#include "src/affinity/transaction.h"

#include <doctest/doctest.h>

#include <cerrno>

#include "fake_kernel.h"
#include "machines.h"
#include "tests/support/folder.h"

namespace gradsync {
namespace {

// Two queues on CPU 0; the plan moves one of them to CPU 1.
struct Scene {
  test::Folder folder;
  FakeKernel kernel;
  TransactionInputs inputs;
  TransactionOptions options;
  std::vector<double> before{50, 51, 50, 52, 51}, after{25, 26, 25, 24, 26};
  int measured = 0, stop_measuring_at = -1;

  Scene() {
    inputs.snapshot = machine(4, 1);
    IrqRates rates;
    add_device(inputs.snapshot, "eth0", 0);
    for (const int irq : {40, 41}) {
      add_queue(inputs.snapshot, rates, "eth0", irq, 0, 5000);
      kernel.lines[irq].allowed = {0, 1, 2, 3};
      kernel.lines[irq].effective = {0};
    }
    inputs.plan = plan_interrupts(inputs.snapshot, rates, {});
    REQUIRE(inputs.plan.moves().size() == 1);
    REQUIRE(inputs.plan.moves()[0].irq == 41);
    inputs.measure = [this]() -> std::optional<std::vector<IrqMeasure>> {
      if (measured == stop_measuring_at) return std::nullopt;
      return std::vector<IrqMeasure>{{"busiest share", "percent", measured++ == 0 ? before : after}};
    };
    inputs.time = "2026-01-02T03:04:05Z";
    options.folder = folder.path() / "irq";
  }
  Result<TransactionResult> run() { return run_transaction(inputs, options, kernel); }
  bool journal_left() const { return std::filesystem::exists(journal_path(options.folder, "boot-1")); }
  bool as_before() {
    return kernel.lines[41].allowed == CpuList{0, 1, 2, 3} && kernel.lines[41].effective == CpuList{0};
  }
};

TEST_CASE("better beyond doubt stays, and its journal with it") {
  Scene scene;
  const Result<TransactionResult> result = scene.run();
  REQUIRE(result);
  CHECK(result->end == TransactionEnd::kept);
  CHECK(result->complete());
  CHECK(result->outcomes.at(0).state == IrqState::moved);
  CHECK(scene.kernel.lines[41].effective == CpuList{1});
  const auto open = open_journal(scene.options.folder, "boot-1");
  REQUIRE(open);
  CHECK(open->journal.state == JournalState::kept);
  CHECK(open->journal.irqs.at(0).effective == CpuList{0});
  const Result<TransactionResult> again = scene.run();
  REQUIRE_FALSE(again);
  CHECK(again.error().hint == "gradsync-doctor irq --undo");
}

TEST_CASE("worse, or no difference shown, is taken back; --keep keeps the latter") {
  Scene worse;
  std::swap(worse.before, worse.after);
  CHECK(worse.run()->end == TransactionEnd::restored_worse);
  CHECK(worse.as_before());
  CHECK_FALSE(worse.journal_left());
  Scene equal;
  equal.after = equal.before;
  CHECK(equal.run()->end == TransactionEnd::restored_equal);
  CHECK(equal.as_before());
  Scene pending;
  pending.after = pending.before;
  pending.kernel.lines[41].per_wait = 0;
  const Result<TransactionResult> put_back = pending.run();
  CHECK(put_back->outcomes.at(0).state == IrqState::restored);
  CHECK(put_back->outcomes.at(0).says.empty());
  Scene few;
  few.before = few.after = {50};
  few.options.when_equal = WhenEqual::keep;
  CHECK(few.run()->end == TransactionEnd::kept);
}

TEST_CASE("another owner that writes the mask is named, and left its mask") {
  Scene scene;
  scene.kernel.placing = {{7, "irqbalance"}};
  scene.inputs.measure = [&]() -> std::optional<std::vector<IrqMeasure>> {
    if (scene.measured++ > 0) scene.kernel.lines[41].allowed = {3};
    return std::vector<IrqMeasure>{};
  };
  const Result<TransactionResult> result = scene.run();
  REQUIRE(result);
  CHECK(result->end == TransactionEnd::reverted);
  CHECK(result->remedy->who == "irqbalance (process 7)");
  CHECK(result->remedy->command.find("41) echo ban=true") != std::string::npos);
  CHECK(scene.kernel.lines[41].allowed == CpuList{3});
  CHECK_FALSE(scene.journal_left());
}

TEST_CASE("refused: nothing is changed and no journal stays") {
  struct Case {
    int error;
    TransactionEnd end;
  };
  for (const Case& c : {Case{EROFS, TransactionEnd::not_permitted},
                        {EACCES, TransactionEnd::not_permitted},
                        {EPERM, TransactionEnd::failed},
                        {ENOSPC, TransactionEnd::failed}}) {
    CAPTURE(c.error);
    Scene scene;
    scene.kernel.lines[41].error = c.error;
    const Result<TransactionResult> result = scene.run();
    REQUIRE(result);
    CHECK(result->end == c.end);
    CHECK(scene.as_before());
    CHECK_FALSE(scene.journal_left());
    CHECK_FALSE(result->outcomes.at(0).says.empty());
  }
}

TEST_CASE("what will be refused is said before anything is measured or saved") {
  for (const int error : {EROFS, EACCES}) {
    Scene scene;
    scene.kernel.forbidden = error;
    const Result<TransactionResult> result = scene.run();
    REQUIRE(result);
    CHECK(result->end == TransactionEnd::not_permitted);
    CHECK(scene.measured == 0);
    CHECK(scene.kernel.written.empty());
    CHECK_FALSE(std::filesystem::exists(scene.options.folder));
    CHECK_FALSE(result->outcomes.at(0).command.empty());
  }
}

TEST_CASE("a CPU that went offline: planned again, once") {
  for (const int error : {EINVAL, ERANGE}) {
    CAPTURE(error);
    Scene scene;
    scene.kernel.lines[41].error_of_cpu = {{1, error}};
    int planned = 0;
    scene.inputs.plan_again = [&]() -> Result<std::pair<IrqSnapshot, IrqPlan>> {
      ++planned;
      std::pair<IrqSnapshot, IrqPlan> fresh{scene.inputs.snapshot, scene.inputs.plan};
      for (IrqPlanLine& line : fresh.second.lines)
        if (line.irq == 41) line.to = 2;
      return fresh;
    };
    const Result<TransactionResult> result = scene.run();
    REQUIRE(result);
    CHECK(planned == 1);
    CHECK(result->end == TransactionEnd::kept);
    CHECK(result->outcomes.at(0).wanted == CpuList{2});
  }
}

TEST_CASE("a signal at any time puts everything back") {
  for (const int wait : {0, 1}) {  // while it verifies, while it guards
    CAPTURE(wait);
    Scene scene;
    scene.kernel.stop_at = wait;
    const Result<TransactionResult> result = scene.run();
    REQUIRE(result);
    CHECK(result->end == TransactionEnd::interrupted);
    CHECK(scene.as_before());
    CHECK_FALSE(scene.journal_left());
  }
  Scene before, after;
  before.stop_measuring_at = 0;
  CHECK(before.run()->end == TransactionEnd::interrupted);
  CHECK(before.kernel.written.empty());
  after.stop_measuring_at = 1;
  CHECK(after.run()->end == TransactionEnd::interrupted);
  CHECK(after.as_before());
  CHECK_FALSE(after.journal_left());
}

}  // namespace
}  // namespace gradsync
