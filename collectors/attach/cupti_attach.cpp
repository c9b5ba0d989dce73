#include "collectors/attach/cupti_attach.h"

#include <unistd.h>

#include <array>
#include <charconv>

#include "collectors/attach/attach.h"
#include "collectors/attach/nvidia_driver.h"
#include "src/base/file.h"
#include "src/base/text.h"

namespace gradsync {
namespace {

constexpr const char* kVariable = "CUDA_INJECTION64_PATH";
constexpr std::array kProfilers{"nsys",           "nsys-launcher",  "ncu", "nv-nsight-cu-cli", "nvprof", "cuda-gdb",
                                "cuda-gdbserver", "compute-sanitiz"};  // the kernel keeps 15 characters
constexpr const char* kWhat =
    "kernels with what launched them and their theoretical occupancy, copies, memsets, launching and waiting calls, "
    "synchronisations and CUDA graphs, of 10 steps from step 10, 100 and 1000 (all with --steps all), through the "
    "libcupti that the job has loaded, else the one beside its CUDA runtime (11.8 to 13.x)";

class CuptiAttach final : public Collector {
 public:
  std::string name() const override { return "GPU activity (CUPTI)"; }

  std::vector<Coverage> probe(const CollectorContext&) const override {
    Coverage coverage{name(), "", CoverageState::collected, "", "", 0};
    const int driver = nvidia_driver_version();
    if (driver == 0) {
      coverage.state = CoverageState::unavailable;
      coverage.reason =
          std::string("no NVIDIA driver here (libcuda.so.1); with one, run --deep cupti records ") + kWhat;
      coverage.hint = kDriverHint;
      return {coverage};
    }
    coverage.reason = "with run --deep cupti: " + std::string(kWhat) + "; driver for CUDA " +
                      std::to_string(driver / 1000) + "." + std::to_string(driver % 1000 / 10);
    return {coverage};
  }

  // One tool can be named in the variable and only one can have CUPTI: who was there first keeps both.
  Result<void> start(const CollectorContext& context, Environment& environment) override {
    const auto before = environment.find(kVariable);
    if (before != environment.end() && !before->second.empty() && before->second != context.library.string())
      return Error{"leaving the GPU to another tool", before->second, std::string(kVariable) + " names it",
                   "run without the other tool, or read its own report: gradsync-doctor analyze FILE"};
    const std::string profiler = profiler_among_ancestors(context.root, ::getpid());
    if (!profiler.empty())
      return Error{"leaving the GPU to another tool", profiler, "this runs under it, and CUPTI serves one tool",
                   "run without " + profiler};
    const auto steps = context.options.find("cupti");
    environment["GSD_CUPTI"] = steps == context.options.end() ? "windows" : steps->second;
    environment[kVariable] = context.library.string();
    return {};
  }

  // What each process recorded, or why it did not, is in its spool.
  void stop(const CollectorContext&, EventSink&, RecordingParts&) override {}
};

std::string command_of(const std::filesystem::path& process) {
  const Result<std::string> text = read_file(process / "comm", 64);
  return text ? std::string(trim(*text)) : std::string{};
}

// "PPid:\t4711" of status; 0 = not told.
std::int64_t parent_of(const std::filesystem::path& process) {
  const Result<std::string> text = read_file(process / "status", 16384);
  if (!text) return 0;
  const std::size_t line = text->find("\nPPid:\t");
  if (line == std::string::npos) return 0;
  std::int64_t parent = 0;
  std::from_chars(text->data() + line + 7, text->data() + text->size(), parent);
  return parent;
}

}  // namespace

std::string profiler_among_ancestors(const std::filesystem::path& root, std::int64_t pid) {
  constexpr int kMostGenerations = 64;
  for (int i = 0; i < kMostGenerations && pid > 1; ++i) {
    const std::filesystem::path process = root / "proc" / std::to_string(pid);
    std::string command = command_of(process);
    for (const std::string_view profiler : kProfilers)
      if (command == profiler) return command;
    pid = parent_of(process);
  }
  return "";
}

std::unique_ptr<Collector> make_cupti_attach() { return std::make_unique<CuptiAttach>(); }

}  // namespace gradsync
