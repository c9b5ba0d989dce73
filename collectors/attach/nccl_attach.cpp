#include "collectors/attach/nccl_attach.h"

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "collectors/attach/attach.h"
#include "src/base/quiet_process.h"

namespace gradsync {
namespace {

constexpr int kNewest = 7;  // that we look for; a plug-in may be newer than we are

void* open_plugin(const std::string& value) {
  if (value == "STATIC_PLUGIN") return ::dlopen(nullptr, RTLD_LAZY | RTLD_LOCAL);
  if (void* library = ::dlopen(value.c_str(), RTLD_LAZY | RTLD_LOCAL)) return library;
  return ::dlopen(("libnccl-profiler-" + value + ".so").c_str(), RTLD_LAZY | RTLD_LOCAL);
}

// One bit for each version; fits an exit status.
int version_bits(const std::string& value) {
  void* library = open_plugin(value);
  int bits = 0;
  for (int version = 1; library != nullptr && version <= kNewest; ++version)
    if (::dlsym(library, ("ncclProfiler_v" + std::to_string(version)).c_str()) != nullptr) bits |= 1 << version;
  return bits;
}

// Exits with 16 when the NCCL that this interpreter's torch uses is older than 2.16, which is known from the wheels;
// builds of conda have it inside torch: 2.14 until torch 2.0.
constexpr const char* kAskInterpreter = R"(
import importlib.util, os, sys
from importlib import metadata
def version(name):
    try: return tuple(int(part) for part in metadata.version(name).split("+")[0].split(".")[:2])
    except Exception: return None
found = [v for v in map(version, ("nvidia-nccl-cu13", "nvidia-nccl-cu12", "nvidia-nccl-cu11")) if v]
if found: sys.exit(16 if max(found) < (2, 16) else 0)
torch = importlib.util.find_spec("torch")
with_cuda = torch and os.path.exists(os.path.join(os.path.dirname(torch.origin), "lib", "libtorch_cuda.so"))
sys.exit(16 if with_cuda and (version("torch") or (9,)) < (2, 1) else 0)
)";

}  // namespace

Result<NcclWishes> nccl_wishes(const std::string& option) {
  NcclWishes wishes;
  if (option.empty() || option == "auto") return wishes;
  if (option == "off") {
    wishes.off = true;
    return wishes;
  }
  for (std::size_t start = 0; start <= option.size();) {
    const std::size_t end = std::min(option.find(',', start), option.size());
    const std::string word = option.substr(start, end - start);
    if (word == "calls")
      wishes.calls = true;
    else if (word == "times")
      wishes.times = wishes.calls = true;
    else if (word == "kernels")
      wishes.kernels = true;
    else if (word == "proxy")
      wishes.proxy = true;
    else
      return Error{"--nccl", option, "neither auto nor off nor a list of calls, times, kernels and proxy",
                   "--nccl calls,kernels"};
    start = end + 1;
  }
  return wishes;
}

Result<NcclWishes> nccl_wishes(const CollectorContext& context) {
  const auto found = context.options.find("nccl");
  return nccl_wishes(found == context.options.end() ? "auto" : found->second);
}

std::string why_library_fails(const CollectorContext& context, const char* symbol) {
  void* library = ::dlopen(context.library.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = ::dlerror();
    return why == nullptr ? "it does not load" : why;
  }
  const bool complete = ::dlsym(library, symbol) != nullptr;
  ::dlclose(library);
  return complete ? "" : context.library.string() + " lacks " + symbol;
}

std::set<int> plugin_versions(const std::string& value) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(version_bits(value));
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child || !WIFEXITED(status)) return {};
  std::set<int> versions;
  for (int version = 1; version <= kNewest; ++version)
    if ((WEXITSTATUS(status) >> version & 1) != 0) versions.insert(version);
  return versions;
}

bool can_chain(const std::set<int>& versions) {
  if (versions.empty()) return false;
  const auto speaks = [&](int version) { return versions.contains(version); };
  constexpr int kOurs = 6;
  if (*versions.rbegin() > kOurs && !speaks(kOurs)) return false;
  for (int version = std::min(*versions.begin(), kOurs); version <= kOurs; ++version)
    if (!speaks(version) && !(version > 4 && (speaks(4) || speaks(version - 1)))) return false;
  return true;
}

std::string why_ranges_lack_sizes(const CollectorContext& context, const Environment& environment) {
  const auto disabled = environment.find("NCCL_NVTX_DISABLE");
  if (disabled != environment.end() && !disabled->second.empty() && disabled->second != "0")
    return "NCCL_NVTX_DISABLE is set";
  const std::string program = probe_program(context.command_line);
  if (program == "/bin/true") return "";
  Environment unrecorded = environment;  // the question is no process of the job
  unrecorded.erase("GSD_RECORDING");
  return run_quietly({{program, "-c", kAskInterpreter}, unrecorded}).ends_with(" 16") ? "its NCCL is older than 2.16"
                                                                                      : "";
}

}  // namespace gradsync
