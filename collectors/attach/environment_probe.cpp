#include <filesystem>

#include "collectors/attach/attach.h"
#include "src/base/quiet_process.h"

namespace gradsync {
namespace {

bool looks_like_python(const std::string& program) {
  return std::filesystem::path(program).filename().string().starts_with("python");
}

}  // namespace

std::string probe_program(const std::vector<std::string>& command_line) {
  if (!command_line.empty() && looks_like_python(command_line.front())) return command_line.front();
  return "/bin/true";
}

std::string try_environment(const std::string& program, const Environment& environment) {
  std::vector<std::string> arguments{program};
  if (looks_like_python(program)) arguments.insert(arguments.end(), {"-c", "pass"});
  // A folder that is not there: the try leaves no greeting in the job's recording.
  Environment without = environment;
  if (without.contains("GSD_RECORDING")) without["GSD_RECORDING"] += "/none";
  const std::string with = run_quietly({arguments, without});
  if (with.empty()) return "";
  // What fails without our variables too is the job's own trouble: exec will say so.
  for (const char* ours : {"PYTHONPATH", "NVTX_INJECTION64_PATH", "GSD_RECORDING", "NCCL_PROFILER_PLUGIN"})
    without.erase(ours);
  // Of the preloaded ones only ours, which comes first.
  const std::string library = without.contains("GSD_LIBRARY") ? without["GSD_LIBRARY"] : "";
  if (const auto preload = without.find("LD_PRELOAD"); preload != without.end() && !library.empty()) {
    if (preload->second == library)
      without.erase(preload);
    else if (preload->second.starts_with(library + ":"))
      preload->second.erase(0, library.size() + 1);
  }
  return run_quietly({arguments, without}).empty() ? with : "";
}

}  // namespace gradsync
