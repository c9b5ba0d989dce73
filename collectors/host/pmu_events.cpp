#include "collectors/host/pmu_events.h"

#include <dlfcn.h>
#include <linux/perf_event.h>

#include <charconv>
#include <map>

#include "src/base/file.h"
#include "src/base/text.h"
#include "src/hosttext/numbers.h"
#include "src/hosttext/pmu_terms.h"

namespace gradsync {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t cache(std::uint64_t which, std::uint64_t operation, std::uint64_t result) {
  return which | operation << 8 | result << 16;
}

struct Generic {
  const char* name;
  std::uint32_t type;
  std::uint64_t config;
};
constexpr std::uint64_t kLoad = PERF_COUNT_HW_CACHE_OP_READ, kMiss = PERF_COUNT_HW_CACHE_RESULT_MISS,
                        kAccess = PERF_COUNT_HW_CACHE_RESULT_ACCESS;
// perf's names, and the short words that bench uses by default.
constexpr Generic kGeneric[] = {
    {"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {"cache-references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES},
    {"cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
    {"branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
    {"branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
    {"stalled-cycles-frontend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND},
    {"stalled-cycles-backend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND},
    {"stalls", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND},
    {"LLC-loads", PERF_TYPE_HW_CACHE, cache(PERF_COUNT_HW_CACHE_LL, kLoad, kAccess)},
    {"LLC-load-misses", PERF_TYPE_HW_CACHE, cache(PERF_COUNT_HW_CACHE_LL, kLoad, kMiss)},
    {"dTLB-load-misses", PERF_TYPE_HW_CACHE, cache(PERF_COUNT_HW_CACHE_DTLB, kLoad, kMiss)},
    {"task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
    {"page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
    {"context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES},
    {"cpu-migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS},
};

std::string read_text(const fs::path& path) {
  const Result<std::string> text = read_file(path, 65536);
  return text ? std::string(trim(*text)) : std::string();
}

Error unknown(const std::string& name, std::string why) {
  return {"cannot count", name, std::move(why), "perf list names the events of this machine"};
}

}  // namespace

// libpfm4's interface as its manual pages tell it (pfm_get_os_event_encoding(3), pfm_get_perf_event_encoding(3)).
class PmuEvents::Library {
 public:
  static std::unique_ptr<Library> open() {
    void* const handle = ::dlopen("libpfm.so.4", RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return nullptr;
    std::unique_ptr<Library> library(new Library(handle));
    const auto initialize = reinterpret_cast<int (*)()>(::dlsym(handle, "pfm_initialize"));
    library->encode_ = reinterpret_cast<Encode>(::dlsym(handle, "pfm_get_os_event_encoding"));
    library->word_of_ = reinterpret_cast<WordOf>(::dlsym(handle, "pfm_strerror"));
    if (initialize == nullptr || library->encode_ == nullptr || library->word_of_ == nullptr) return nullptr;
    return initialize() == kSuccess ? std::move(library) : nullptr;
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library() { ::dlclose(handle_); }

  Result<PmuEvent> find(const std::string& name) const {
    perf_event_attr attributes{};
    attributes.size = sizeof attributes;
    Arguments arguments{};
    arguments.attributes = &attributes;
    arguments.size = sizeof arguments;
    const int status = encode_(name.c_str(), kUser | kKernel, kPerfEvent, &arguments);
    if (status != kSuccess) return unknown(name, word_of_(status));
    return PmuEvent{
        name, attributes.type, attributes.config, attributes.config1, attributes.config2, PmuOrigin::libpfm};
  }

 private:
  static constexpr int kSuccess = 0, kKernel = 1, kUser = 8, kPerfEvent = 1;
  struct Arguments {
    perf_event_attr* attributes;
    char** full_name;
    std::size_t size;
    int index, cpu, flags, unused;
  };
  using Encode = int (*)(const char*, int, int, void*);
  using WordOf = const char* (*)(int);

  explicit Library(void* handle) : handle_(handle) {}
  void* handle_;
  Encode encode_ = nullptr;
  WordOf word_of_ = nullptr;
};

PmuEvents::PmuEvents(const fs::path& root)
    : devices_(root / "sys/bus/event_source/devices"), library_(Library::open()) {}
PmuEvents::~PmuEvents() = default;

std::vector<std::string> PmuEvents::generic_names() {
  std::vector<std::string> names;
  for (const Generic& generic : kGeneric) names.emplace_back(generic.name);
  return names;
}

Result<PmuEvent> PmuEvents::find(const std::string& name) const {
  for (const Generic& generic : kGeneric)
    if (name == generic.name)
      return PmuEvent{name,
                      generic.type,
                      generic.config,
                      0,
                      0,
                      generic.type == PERF_TYPE_SOFTWARE ? PmuOrigin::software : PmuOrigin::generic};
  if (const auto raw = parse_raw_event(name)) return PmuEvent{name, PERF_TYPE_RAW, *raw, 0, 0, PmuOrigin::raw};
  const std::size_t slash = name.find('/');
  if (slash != std::string::npos && name.ends_with('/') && slash + 1 < name.size())
    return find_in_sysfs(name.substr(0, slash), name.substr(slash + 1, name.size() - slash - 2), name);
  for (const char* pmu : {"cpu", "cpu_core", "armv8_pmuv3_0"})
    if (!name.empty() && name.find('/') == std::string::npos && !read_text(devices_ / pmu / "events" / name).empty())
      return find_in_sysfs(pmu, name, name);
  if (library_) return library_->find(name);
  return unknown(name, "neither a generic event, nor raw (r01c2), nor in /sys, and libpfm4 is not installed");
}

Result<PmuEvent> PmuEvents::find_in_sysfs(const std::string& pmu, const std::string& event,
                                          const std::string& name) const {
  const fs::path folder = devices_ / pmu;
  const auto type = parse_unsigned(read_text(folder / "type"));
  if (!type) return unknown(name, "this machine has no PMU of the name " + pmu);
  const std::string alias = event.find('=') == std::string::npos ? read_text(folder / "events" / event) : "";
  std::map<std::string, std::string> formats;
  std::error_code error;
  for (fs::directory_iterator file(folder / "format", error); !error && file != fs::directory_iterator();
       file.increment(error))
    formats[file->path().filename().string()] = read_text(file->path());
  const std::optional<PmuConfig> config = parse_pmu_terms(alias.empty() ? event : alias, formats);
  if (!config) return unknown(name, pmu + " has neither such an event nor such terms");
  return PmuEvent{
      name, static_cast<std::uint32_t>(*type), config->config, config->config1, config->config2, PmuOrigin::sysfs};
}

}  // namespace gradsync
