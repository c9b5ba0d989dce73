#include "collectors/host/tracefs.h"

#include <sched.h>
#include <sys/mount.h>

#include <cerrno>
#include <thread>

#include "src/base/file.h"

namespace gradsync {
namespace {

namespace fs = std::filesystem;
using Formats = std::map<std::string, TraceFormat>;

constexpr const char* kTracing = "sys/kernel/tracing";

Result<Formats> read_below(const fs::path& tracing, const std::vector<std::string>& names) {
  Formats formats;
  for (const std::string& name : names) {
    const fs::path file = tracing / "events" / name / "format";
    const Result<std::string> text = read_file(file, 1 << 16);
    if (!text) return text.error();
    const std::optional<TraceFormat> format = parse_trace_format(*text);
    if (!format) return Error{"cannot read", file.string(), "it has no number or no fields", ""};
    formats[name] = *format;
  }
  return formats;
}

// In a mount namespace of this thread alone: nothing of it is seen by the job or by anybody else.
Result<Formats> read_mounted(const fs::path& tracing, const std::vector<std::string>& names) {
  const auto failed = [&](int error) {
    const char* const ours = error == EPERM ? "what it holds is for root alone, and it cannot be mounted here: " : "";
    return Error{"cannot read", tracing.string(), ours + errno_text(error), "run it as root"};
  };
  if (::unshare(CLONE_NEWNS) != 0) return failed(errno);
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return failed(errno);
  if (::mount("none", tracing.c_str(), "tracefs", 0, nullptr) != 0) return failed(errno);
  return read_below(tracing, names);
}

}  // namespace

Result<Formats> read_trace_formats(const fs::path& root, const std::vector<std::string>& names) {
  for (const char* mounted : {kTracing, "sys/kernel/debug/tracing"})
    if (Result<Formats> formats = read_below(root / mounted, names)) return formats;
  if (root != "/") return read_below(root / kTracing, names);
  Result<Formats> formats = Error{"cannot mount tracefs", "", "", ""};
  try {
    std::thread([&] { formats = read_mounted(root / kTracing, names); }).join();
  } catch (const std::system_error& refused) {
    return Error{"cannot mount tracefs", "", refused.code().message(), ""};
  }
  return formats;
}

}  // namespace gradsync
