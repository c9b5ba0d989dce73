// Small SQLite files for tests, written through SQLite itself, and a sink that keeps each rank's events apart.
#pragma once

#include <deque>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "collectors/import/format.h"
#include "tests/unit/import/trace_files.h"

namespace gradsync::test {

// A database made by `sql` in a folder of its own; both vanish with it.
class NsysFile {
 public:
  explicit NsysFile(const std::string& sql, const std::string& name = "report1.sqlite");
  const std::filesystem::path& path() const { return file_.path(); }
  std::string bytes() const;

 private:
  TraceFile file_;
};

// CREATE TABLE statements with the columns of an export of 2024 to 2026 that matter here.
std::string nsys_tables();
// INSERT INTO StringIds: "1 gemm", "2 cudaLaunchKernel" …
std::string nsys_strings(const std::vector<std::string>& strings);

// globalPid and globalTid as an export writes them.
std::string process(int pid);
std::string thread(int pid, int tid);

class RankEvents final : public EventSink {
 public:
  void begin_process(const ProcessInfo& process) override { ranks.emplace_back().begin_process(process); }
  NameId intern(std::string_view text) override { return ranks.back().intern(text); }
  void lane(const LaneInfo& lane) override { ranks.back().lane(lane); }
  void event(const Event& event) override { ranks.back().event(event); }
  void attribute(std::uint64_t reference, NameId key, std::int64_t value) override {
    ranks.back().attribute(reference, key, value);
  }
  void attribute(std::uint64_t reference, NameId key, NameId value) override {
    ranks.back().attribute(reference, key, value);
  }
  void fact(std::string_view key, std::string_view value) override { ranks.back().fact(key, value); }

  std::deque<KeptEvents> ranks;
};

struct ImportedExport {
  Result<Imported> result;
  RankEvents sink;
};
ImportedExport import_export(const std::filesystem::path& path);
ImportedExport import_sql(const std::string& sql);

}  // namespace gradsync::test
