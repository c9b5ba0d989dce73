// The GPU sampler beside a job: opened by a thread of its own, because the driver may take seconds to wake.
#include <fmt/format.h>
#include <unistd.h>

#include <set>

#include "collectors/host/gpu_sampler.h"
#include "collectors/host/host.h"
#include "collectors/host/job_tree.h"
#include "collectors/host/ticker.h"
#include "src/base/file.h"
#include "src/base/text.h"

namespace gradsync {
namespace {

constexpr const char* kHint =
    "install NVIDIA's driver (nvidia-smi then lists the GPUs); in a container start it with the GPUs (docker run "
    "--gpus "
    "all) and the capability utility (NVIDIA_DRIVER_CAPABILITIES)";
constexpr const char *kForeign = "the files are of another machine", *kNoGpu = "the driver knows of no GPU";
constexpr Nanoseconds kFirstPause = 300'000'000;  // a job of less than a second is seen as well
// A look asks some twenty things of each GPU, which costs more than reading /proc.
constexpr double kMostShare = 0.002;

constexpr const char* kWhat =
    "once a second through NVML: clocks and what holds them down, power, heat, PCIe and NVLink, memory and its errors, "
    "Xid "
    "events, processes of other jobs";

// MPS serves the job's own kernels from a process of another parent.
bool serves_others(const std::string& process) { return process.starts_with("nvidia-cuda-mps"); }

Owner owner_of(std::int64_t pid) {
  const std::filesystem::path proc = "/proc";
  const Result<std::string> name = read_file(proc / std::to_string(pid) / "comm", 256);
  if (!name) return Owner::unknown;
  if (serves_others(std::string(trim(*name))) || descends_from(proc, pid, ::getpid())) return Owner::job;
  return Owner::other;
}

class GpuCollector final : public Collector {
 public:
  std::string name() const override { return "GPU state"; }

  std::vector<Coverage> probe(const CollectorContext& context) const override {
    Coverage coverage{name(), "", CoverageState::collected, "", "", 0};
    if (const Result<void> possible = look_here(context); !possible) {
      coverage.state = CoverageState::unavailable;
      coverage.reason = std::string(possible.error().why) + "; with it, run records " + kWhat;
      coverage.hint = possible.error().hint;
    } else {
      coverage.reason = kWhat;
    }
    return {coverage};
  }

  Result<void> start(const CollectorContext& context, Environment&) override {
    if (context.root != "/") return {};
    Result<std::thread> opener = start_quiet_thread("cannot watch the GPUs", [this] { open(); });
    if (!opener) return opener.error();
    opener_ = std::move(*opener);
    return {};
  }

  void stop(const CollectorContext& context, EventSink&, RecordingParts& parts) override {
    if (opener_.joinable()) opener_.join();
    ticker_.stop();
    if (sampler_) {
      sampler_->look(monotonic_now());
      sampler_->add_parts(parts);
      parts.facts["host.gpu_cpu_percent"] = fmt::format("{:.3f}", ticker_.cpu_percent());
    }
    if (!parts.series.contains("gpu")) say_unavailable(context, parts.coverage);
    sampler_.reset();
  }

 private:
  // In place of the entry of its start, which could not know.
  void say_unavailable(const CollectorContext& context, std::vector<Coverage>& all) const {
    const bool foreign = context.root != "/";
    std::erase_if(all, [this](const Coverage& entry) { return entry.source == name(); });
    all.push_back({name(), "", CoverageState::unavailable,
                   foreign    ? kForeign
                   : sampler_ ? kNoGpu
                              : why_not_,
                   foreign || sampler_ ? "" : kHint, 0});
  }

  static Result<void> look_here(const CollectorContext& context) {
    if (context.root != "/") return Error{"cannot ask NVML", "", kForeign, ""};
    const auto library = NvmlLibrary::open(kNvmlLibrary);
    if (!library) return Error{"cannot ask NVML", kNvmlLibrary, library.error().why, kHint};
    if ((*library)->devices().empty()) return Error{"cannot ask NVML", "", kNoGpu, ""};
    return {};
  }

  // In opener_'s thread, which stop() waits for.
  void open() {
    Result<std::unique_ptr<NvmlLibrary>> library = NvmlLibrary::open(kNvmlLibrary);
    if (!library) {
      why_not_ = library.error().why;
      return;
    }
    sampler_ = std::make_unique<GpuSampler>(std::move(*library), owner_of);
    sampler_->look(monotonic_now());
    // Without the ticker there are two looks: now, and at the end.
    static_cast<void>(ticker_.start([this] { sampler_->look(monotonic_now()); }, kFirstPause));
  }

  std::thread opener_;
  std::unique_ptr<GpuSampler> sampler_;
  std::string why_not_;
  Ticker ticker_{kMostShare};
};

}  // namespace

std::unique_ptr<Collector> make_gpu_sampler() { return std::make_unique<GpuCollector>(); }

}  // namespace gradsync
