// The journal: how interrupts were before they were changed. It is on disk before the first mask is written, and stays
// until they are restored, so that a doctor that died in the middle can be undone by the next one. Valid for one boot.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "src/base/file.h"
#include "src/base/result.h"
#include "src/model/irq_snapshot.h"

namespace gradsync {

struct SavedIrq {
  int irq = 0;
  std::string action, hwirq, chip, device;
  CpuList allowed;                   // the mask before
  std::optional<CpuList> effective;  // the CPU before
  std::optional<CpuList> hint;
  int node = -1;
  CpuList written;  // the mask that replaced it; a line that has another one is somebody else's by now
};

enum class JournalState { begun, kept };  // begun: the transaction that wrote it has not ended

struct IrqJournal {
  std::string boot_id, host, time;  // time: UTC
  JournalState state = JournalState::begun;
  int pid = 0;
  std::optional<CpuList> default_allowed;
  std::vector<IrqOwner> owners;
  std::vector<SavedIrq> irqs;
};

inline constexpr const char* kJournalFolder = "/var/lib/gradsync-doctor/irq";

std::filesystem::path journal_path(const std::filesystem::path& folder, const std::string& boot_id);

// Makes the folder (0700) and holds it until the descriptor is closed: two transactions never run at once.
Result<FileDescriptor> lock_journals(const std::filesystem::path& folder);

enum class Existing { refuse, replace };
// On disk when it returns: file (0600) and folder are flushed.
Result<void> save_journal(const std::filesystem::path& path, const IrqJournal& journal, Existing existing);
Result<IrqJournal> load_journal(const std::filesystem::path& path);
Result<void> consume_journal(const std::filesystem::path& path);

// One that is not consumed, of this boot; whether its transaction is still running.
struct OpenJournal {
  std::filesystem::path path;
  IrqJournal journal;
  bool running = false;
};
std::optional<OpenJournal> open_journal(const std::filesystem::path& folder, const std::string& boot_id);

}  // namespace gradsync
