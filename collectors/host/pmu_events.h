// Hardware events by name: generic ones of the kernel, raw codes (r01c2), names of /sys/bus/event_source, and the
// vendors' own names through libpfm4 where that is installed. The library is looked for at run time.
//
//   "cycles" ─ generic │ "r412e" ─ raw │ "cpu/mem-loads/", "cpu/event=0x2e/" ─ sysfs │ "icx::LONGEST_LAT_CACHE:MISS" ─ libpfm
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "src/base/result.h"

namespace gradsync {

enum class PmuOrigin { generic, software, raw, sysfs, libpfm };

struct PmuEvent {
  std::string name;
  std::uint32_t type = 0;  // as perf_event_attr has them
  std::uint64_t config = 0, config1 = 0, config2 = 0;
  PmuOrigin origin = PmuOrigin::generic;
};

class PmuEvents {
 public:
  // `root`: below it sys/bus/event_source.
  explicit PmuEvents(const std::filesystem::path& root = "/");
  ~PmuEvents();

  Result<PmuEvent> find(const std::string& name) const;
  bool has_library() const { return library_ != nullptr; }
  // Names of the kernel's own events, for help and errors.
  static std::vector<std::string> generic_names();

 private:
  class Library;
  Result<PmuEvent> find_in_sysfs(const std::string& pmu, const std::string& event, const std::string& name) const;

  std::filesystem::path devices_;
  std::unique_ptr<Library> library_;
};

}  // namespace gradsync
