#include "src/affinity/journal.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>

#include "tests/support/folder.h"

namespace gradsync {
namespace {

IrqJournal example() {
  IrqJournal journal{"boot-1", "host-1",      "2026-01-02T03:04:05Z", JournalState::begun,
                     42,       CpuList{0, 1}, {{7, "irqbalance"}},    {}};
  journal.irqs.push_back({38, "virtio2-input.0", "1", "PCI-MSIX", "eth0", {0, 1}, CpuList{1}, CpuList{0, 1}, -1, {0}});
  journal.irqs.push_back({39, "virtio2-output.0", "2", "PCI-MSIX", "eth0", {0, 1}, std::nullopt, std::nullopt, 0, {0}});
  return journal;
}

TEST_CASE("a journal comes back as it was saved, for its owner alone") {
  const test::Folder folder;
  const auto path = journal_path(folder.path() / "irq", "boot-1");
  const Result<FileDescriptor> lock = lock_journals(folder.path() / "irq");
  REQUIRE(lock);
  REQUIRE(save_journal(path, example(), Existing::refuse));
  const Result<IrqJournal> loaded = load_journal(path);
  REQUIRE(loaded);
  CHECK(loaded->boot_id == "boot-1");
  CHECK(loaded->host == "host-1");
  CHECK(loaded->time == "2026-01-02T03:04:05Z");
  CHECK(loaded->state == JournalState::begun);
  CHECK(loaded->pid == 42);
  CHECK(loaded->default_allowed == CpuList{0, 1});
  CHECK(loaded->owners.at(0).name == "irqbalance");
  REQUIRE(loaded->irqs.size() == 2);
  CHECK(loaded->irqs[0].action == "virtio2-input.0");
  CHECK(loaded->irqs[0].hwirq == "1");
  CHECK(loaded->irqs[0].allowed == CpuList{0, 1});
  CHECK(loaded->irqs[0].effective == CpuList{1});
  CHECK(loaded->irqs[0].written == CpuList{0});
  CHECK_FALSE(loaded->irqs[1].effective);
  struct stat file {
  }, parent{};
  REQUIRE(::stat(path.c_str(), &file) == 0);
  REQUIRE(::stat(path.parent_path().c_str(), &parent) == 0);
  CHECK((file.st_mode & 0777U) == 0600);
  CHECK((parent.st_mode & 0777U) == 0700);
}

TEST_CASE("one that was not undone is not written over; consumed, it makes room") {
  const test::Folder folder;
  const auto path = journal_path(folder.path(), "boot-1");
  REQUIRE(save_journal(path, example(), Existing::refuse));
  const Result<void> again = save_journal(path, example(), Existing::refuse);
  REQUIRE_FALSE(again);
  CHECK(again.error().hint == "gradsync-doctor irq --undo");
  REQUIRE(save_journal(path, example(), Existing::replace));
  REQUIRE(consume_journal(path));
  REQUIRE(save_journal(path, example(), Existing::refuse));
}

TEST_CASE("what is no journal is refused") {
  const test::Folder folder;
  const auto path = folder.path() / "journal.json";
  CHECK_FALSE(load_journal(path));
  for (
      const char* text :
      {"", "[]", "{", R"({"format":1})",
       R"({"format":2,"boot_id":"b","host":"","time":"","state":"begun","pid":1,"owners":[],"irqs":[]})",
       R"({"format":1,"boot_id":"b","host":"","time":"","state":"begun","pid":1,"owners":[],"irqs":[{"irq":1,"allowed":"x","written":"0"}]})"}) {
    CAPTURE(text);
    std::ofstream(path) << text;
    const Result<IrqJournal> loaded = load_journal(path);
    REQUIRE_FALSE(loaded);
    CHECK(loaded.error().exit_status == 3);
  }
}

TEST_CASE("two transactions never run at once, and a folder that others may write is refused") {
  const test::Folder folder;
  Result<FileDescriptor> held = lock_journals(folder.path() / "irq");
  REQUIRE(held);
  CHECK_FALSE(lock_journals(folder.path() / "irq"));
  REQUIRE(save_journal(journal_path(folder.path() / "irq", "b"), example(), Existing::refuse));
  CHECK(open_journal(folder.path() / "irq", "b")->running);
  held->reset();
  CHECK_FALSE(open_journal(folder.path() / "irq", "b")->running);
  CHECK_FALSE(open_journal(folder.path() / "irq", "another-boot"));
  REQUIRE(::chmod((folder.path() / "irq").c_str(), 0777) == 0);
  CHECK_FALSE(lock_journals(folder.path() / "irq"));
}

}  // namespace
}  // namespace gradsync
