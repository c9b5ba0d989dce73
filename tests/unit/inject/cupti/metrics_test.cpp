// The host's half of CUPTI's profiler runs without a GPU: where a real library of CUDA 12.6 or later is found, it is
// asked what it makes of the metrics on chips that are not here.
#include "collectors/inject/cupti/metrics.h"

#include <dlfcn.h>
#include <doctest/doctest.h>
#include <glob.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "collectors/attach/gpu_counters.h"
#include "collectors/inject/cupti/plan.h"

using namespace gradsync;
using namespace gradsync::cupti;

namespace {

void* real_library() {
  const char* named = std::getenv("GSD_TEST_CUPTI");
  std::vector<std::string> paths;
  if (named != nullptr) paths.emplace_back(named);
  glob_t found{};
  if (::glob("/usr/local/cuda*/lib*/libcupti.so.1[2-9]", 0, nullptr, &found) == 0)
    for (std::size_t i = 0; i < found.gl_pathc; ++i) paths.emplace_back(found.gl_pathv[i]);
  ::globfree(&found);
  for (const std::string& path : paths)
    if (void* library = ::dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL)) return library;
  return nullptr;
}

std::vector<std::string> names_of(const MetricSet& set) { return {set.names(), set.names() + set.count()}; }

struct Chosen {
  Status status;
  std::vector<std::string> names;
  std::string refused;
  bool has_image;
};

Chosen choose(const ProfilerFunctions& call, const char* chip, const std::string& names) {
  const auto set = std::make_unique<MetricSet>();
  set->parse(names.c_str());
  const Status status = set->choose(call, chip, nullptr);
  Chosen chosen{status, names_of(*set), set->refused(), set->config() != nullptr && set->config_bytes() > 0};
  set->release(call);
  return chosen;
}

// In a child: 13.2 recurses without end where there is no driver.
bool works_without_driver(const ProfilerFunctions& call) {
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    for (const int number : {SIGSEGV, SIGBUS, SIGABRT}) ::signal(number, SIG_DFL);
    ::_exit(choose(call, "GH100", "").status == Statuses::success ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return child > 0 && status == 0;
}

}  // namespace

TEST_CASE("the steps that are counted, and the one before in which NCCL's calls are watched") {
  std::vector<uint32_t> counted, guarded;
  for (uint32_t step = 0; step < 2000; ++step) {
    if (counts(step)) counted.push_back(step);
    if (guards(step)) guarded.push_back(step);
    CHECK_FALSE((counts(step) && watches({Watch::windows, 0, 0}, step)));  // records and counters do not go together
  }
  CHECK(counted == std::vector<uint32_t>{25, 26, 27});
  CHECK(guarded == std::vector<uint32_t>{24, 25, 26, 27});
}

TEST_CASE("real libcupti: one pass, and what needs more is refused by name") {
  void* library = real_library();
  ProfilerFunctions call{};
  if (library == nullptr) {
    MESSAGE("skipped: no libcupti.so in GSD_TEST_CUPTI or /usr/local/cuda*");
    return;
  }
  if (const char* missing = find_profiler(library, call)) {
    MESSAGE("skipped: that library has no ", missing);
    return;
  }
  if (!works_without_driver(call)) {
    MESSAGE(
        "skipped: no libnvperf_host.so beside that library, or it needs a driver for its host's half, as from CUDA "
        "13.2");
    return;
  }
  for (const char* chip : {"GA100", "GH100", "AD102"}) {  // A100, H100 and H200, L40 and RTX 4090
    const Chosen usual = choose(call, chip, default_counters());
    CHECK(usual.status == Statuses::success);
    CHECK(usual.names.size() == 6);
    CHECK(usual.names.front() == MetricSet::kDuration);
    CHECK(usual.refused.empty());
    CHECK(usual.has_image);
  }
  const Chosen refused = choose(call, "GH100", "lts__t_sector_hit_rate.pct,dram__bytes.sum,no__such.sum");
  CHECK(refused.names == std::vector<std::string>{MetricSet::kDuration, "dram__bytes.sum"});
  CHECK(refused.refused == "lts__t_sector_hit_rate.pct (needs a second pass), no__such.sum (not on this chip)");
  // Older chips read the memory's throughput in two passes, the rest in one.
  CHECK(choose(call, "GV100", default_counters()).names.size() == 5);
  CHECK(choose(call, "no such chip", "dram__bytes.sum").status != Statuses::success);
}
