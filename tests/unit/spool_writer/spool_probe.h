// For tests of the writer: a reader of spools that knows nothing but the format, and a way to run a writer in a process
// of its own (the writer's state belongs to a process, so every case needs a fresh one).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/spool_writer/process_state.h"
#include "src/spool_writer/spool_format.h"
#include "tests/support/folder.h"

namespace gradsync::test {

struct ProbedEvent {
  std::uint64_t index;
  spool::Record record;
};

struct Spool {
  spool::SpoolHeader header;
  std::map<std::uint32_t, std::string> strings;
  std::vector<ProbedEvent> events;
  std::vector<spool::AttributeRecord> attributes;
  std::vector<spool::ChunkHeader> lanes;  // of chunk headers and of those inside chunks

  const std::string& text(std::uint32_t id) const;
  std::vector<spool::Record> of_kind(spool::Kind kind) const;
  // Integer attributes as digits; "" when the event has none of that key.
  std::string attribute(std::uint64_t target, const std::string& key) const;
  std::string fact(const std::string& key) const { return attribute(spool::kProcess, key); }
};

Spool read_spool(const std::filesystem::path& file);

// A recording in a temporary folder, removed at the end.
class Recording {
 public:
  Recording();
  explicit Recording(const std::filesystem::path& folder);
  const std::filesystem::path& folder() const { return folder_; }
  std::vector<std::filesystem::path> files() const;
  // The only spool; fails the test when there are others.
  Spool only() const;
  Spool of(pid_t pid) const;

 private:
  std::optional<Folder> own_;
  std::filesystem::path folder_;
};

struct WriterOptions {
  int max_chunks = 0;            // GSD_MAX_CHUNKS, 0 = unset
  std::uint32_t page_bytes = 0;  // as if the machine had such pages, 0 = as it has
  spool::ForkGuard fork_guard = spool::ForkGuard::kernel_or_handler;
};

// Forks, configures the writer for `recording` (null = no GSD_RECORDING) and calls `body`, whose result is the exit
// status; the goodbye is said. Returns the wait status.
int run_writer(const Recording* recording, const std::function<int()>& body, WriterOptions options = {});

// Waits for a child and returns its wait status; kills it when it hangs.
int wait_for(pid_t child);

}  // namespace gradsync::test
