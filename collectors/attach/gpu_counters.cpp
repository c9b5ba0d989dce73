#include "collectors/attach/gpu_counters.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>

#include "collectors/attach/attach.h"
#include "collectors/attach/nvidia_driver.h"
#include "src/base/file.h"
#include "src/base/text.h"

namespace gradsync {
namespace {

constexpr std::array kDefault{"dram__throughput.avg.pct_of_peak_sustained_elapsed",
                              "lts__t_sectors.avg.pct_of_peak_sustained_elapsed",
                              "sm__warps_active.avg.pct_of_peak_sustained_active",
                              "sm__cycles_active.avg.pct_of_peak_sustained_elapsed", "l1tex__t_sector_hit_rate.pct"};
constexpr const char* kWhat =
    "throughput of device memory and L2, achieved occupancy and other metrics of CUPTI, of the kernels that compress "
    "the "
    "first bucket of steps 25 to 27, one pass, never of NCCL's kernels";

bool is_metric(std::string_view name) {
  const bool plain = std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
  });
  const std::size_t unit = name.find("__"), rollup = name.find('.');
  return plain && unit != std::string::npos && unit > 0 && rollup != std::string::npos && rollup + 1 < name.size();
}

// The line "<key><anything> <value>" of a file of /proc; empty where there is none.
std::string value_of(const std::filesystem::path& file, const std::string& key) {
  const Result<std::string> text = read_file(file, 65536);
  if (!text) return "";
  std::size_t at = text->starts_with(key) ? 0 : text->find("\n" + key);
  if (at == std::string::npos) return "";
  at = text->find(key, at) + key.size();
  return std::string(trim(std::string_view(*text).substr(at, text->find('\n', at) - at)));
}

class GpuCountersAttach final : public Collector {
 public:
  std::string name() const override { return kCounterCollector; }

  std::vector<Coverage> probe(const CollectorContext& context) const override {
    Coverage coverage{name(), "", CoverageState::collected, "", "", 0};
    if (nvidia_driver_version() == 0) {
      coverage.state = CoverageState::unavailable;
      coverage.reason =
          std::string("no NVIDIA driver here (libcuda.so.1); with one, run --deep cupti --counters reads ") + kWhat;
      coverage.hint = kDriverHint;
    } else if (refused(context)) {
      coverage.state = CoverageState::unavailable;
      coverage.reason = "the driver lets only the administrator read counters (RmProfilingAdminOnly: 1)";
      coverage.hint = kCounterPermissionHint;
    } else {
      coverage.reason = std::string("with run --deep cupti --counters: ") + kWhat + "; needs CUPTI of CUDA 12.6";
    }
    return {coverage};
  }

  Result<void> start(const CollectorContext& context, Environment& environment) override {
    if (refused(context))
      return Error{"cannot read hardware counters", (context.root / "proc/driver/nvidia/params").string(),
                   "the driver lets only the administrator read them (RmProfilingAdminOnly: 1)",
                   kCounterPermissionHint};
    const auto names = context.options.find("counters");
    environment["GSD_COUNTERS"] = names == context.options.end() ? default_counters() : names->second;
    return {};
  }

  // What each process read, or why it could not, is in its spool.
  void stop(const CollectorContext&, EventSink&, RecordingParts&) override {}

 private:
  static bool refused(const CollectorContext& context) {
    return counter_permission(context.root) == CounterPermission::administrator_only && !may_administrate(context.root);
  }
};

}  // namespace

std::string default_counters() { return join({kDefault.begin(), kDefault.end()}, ","); }

Result<std::string> counter_names(const std::string& names) {
  if (names.empty()) return default_counters();
  for (std::size_t begin = 0; begin <= names.size();) {
    const std::size_t end = std::min(names.find(',', begin), names.size());
    const std::string name = names.substr(begin, end - begin);
    if (!is_metric(name))
      return Error{"--counters", name, "no metric of CUPTI: those are named like dram__bytes.sum",
                   "names separated by commas, and -- before the job"};
    begin = end + 1;
  }
  return names;
}

CounterPermission counter_permission(const std::filesystem::path& root) {
  const std::string value = value_of(root / "proc/driver/nvidia/params", "RmProfilingAdminOnly:");
  if (value.empty()) return CounterPermission::unknown;
  return value == "0" ? CounterPermission::everybody : CounterPermission::administrator_only;
}

bool may_administrate(const std::filesystem::path& root) {
  constexpr std::uint64_t kSysAdmin = std::uint64_t{1} << 21;
  return (std::strtoull(value_of(root / "proc/self/status", "CapEff:").c_str(), nullptr, 16) & kSysAdmin) != 0;
}

std::unique_ptr<Collector> make_gpu_counters_attach() { return std::make_unique<GpuCountersAttach>(); }

}  // namespace gradsync
