// The CPU's loads as one library.
#include <unistd.h>

#include <algorithm>

#include "loads/cpu/kernels.h"
#include "loads/library.h"

namespace gradsync {
namespace {

class CpuLoadLibrary final : public LoadLibrary {
 public:
  std::string device() const override { return "cpu"; }
  std::string instruction_set() const override { return kernels::instruction_set(); }
  Result<void> ready() const override { return {}; }
  std::int64_t cache_bytes() const override { return std::max(0L, ::sysconf(_SC_LEVEL3_CACHE_SIZE)); }
  const std::vector<LoadEntry>& loads() const override { return cpu_loads(); }
  std::vector<Check> verify(const MakeLoad& make, const LoadOptions& options) const override {
    return gradsync::verify(make, options);
  }
  std::unique_ptr<BandwidthProbe> bandwidth(std::int64_t elements, int threads) const override {
    return cpu_bandwidth(elements, threads);
  }
};

}  // namespace

const LoadLibrary& cpu_load_library() {
  static const CpuLoadLibrary library;
  return library;
}

}  // namespace gradsync
