#include "src/commands/irq_report.h"

#include <doctest/doctest.h>

#include <filesystem>

#include "tests/support/folder.h"

namespace gradsync {
namespace {

OpenJournal left_by(JournalState state) {
  OpenJournal open;
  open.journal.state = state;
  open.journal.time = "2026-01-02T03:04:05Z";
  open.journal.irqs.resize(2);
  return open;
}

TEST_CASE("what is said of a change that was not undone") {
  const Coverage died = earlier_change(left_by(JournalState::begun));
  CHECK(died.state == CoverageState::partial);
  CHECK(died.reason ==
        "an irq --fix ended in the middle and left 2 interrupts of 2026-01-02T03:04:05Z where it had put them");
  CHECK(died.hint == "gradsync-doctor irq --undo");
  CHECK(earlier_change(left_by(JournalState::kept)).reason ==
        "an earlier irq --fix is in place: 2 interrupts of 2026-01-02T03:04:05Z");
  OpenJournal running = left_by(JournalState::begun);
  running.running = true;
  CHECK(earlier_change(running).hint.empty());
}

TEST_CASE("check says whether interrupts can be counted, and what a doctor that died left behind") {
  CHECK(irq_coverage({"/nonexistent", "/nonexistent"}, "/nonexistent").at(0).state == CoverageState::unavailable);
  const Result<IrqSnapshot> now = read_irq_snapshot({});
  if (!now) {
    MESSAGE("skipped: no /proc/interrupts here");
    return;
  }
  const test::Folder folder;
  IrqJournal journal;
  journal.boot_id = now->boot_id;
  REQUIRE(save_journal(journal_path(folder.path(), now->boot_id), journal, Existing::replace));
  const std::vector<Coverage> entries = irq_coverage({}, folder.path());
  CHECK(entries.at(0).source == "interrupts");
  CHECK(entries.back().source == "changed interrupts");
  CHECK(irq_coverage({}, "/nonexistent").size() == entries.size() - 1);
}

}  // namespace
}  // namespace gradsync
