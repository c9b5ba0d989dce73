// What the CPU loads share: sizes, options, and memory that may not be there.
#pragma once

#include <new>

#include "loads/load.h"

namespace gradsync {

class CpuLoad : public Load {
 public:
  explicit CpuLoad(const LoadOptions& options) : options_(options) {}

  Result<void> prepare(std::int64_t elements, std::uint64_t seed) final {
    if (elements < 0 || elements > kMostElements)
      return Error{"cannot prepare a load of", std::to_string(elements) + " elements", "indices have 32 bits",
                   "at most 4294967295", 2};
    n_ = elements;
    seed_ = seed;
    step_ = 0;
    try {
      allocate();
    } catch (const std::bad_alloc&) {
      return Error{"cannot prepare a load of", std::to_string(elements) + " elements", "out of memory",
                   "choose a smaller --n", 3};
    }
    return {};
  }

 protected:
  static constexpr std::int64_t kMostElements = 4294967295;
  virtual void allocate() = 0;

  LoadOptions options_;
  std::int64_t n_ = 0;
  std::uint64_t seed_ = 0, step_ = 0;
};

// One for each algorithm, in the file of its name.
std::unique_ptr<Load> make_topk_sort(const LoadOptions& options);
std::unique_ptr<Load> make_topk_select(const LoadOptions& options);
std::unique_ptr<Load> make_topk_histogram(const LoadOptions& options);
std::unique_ptr<Load> make_dgc(const LoadOptions& options);
std::unique_ptr<Load> make_onebit_ef(const LoadOptions& options);
std::unique_ptr<Load> make_cast16(const LoadOptions& options);
std::unique_ptr<Load> make_cast8(const LoadOptions& options);
std::unique_ptr<Load> make_qsgd(const LoadOptions& options);
std::unique_ptr<Load> make_randomk(const LoadOptions& options);
std::unique_ptr<Load> make_powersgd(const LoadOptions& options);
std::unique_ptr<Load> make_scatter(const LoadOptions& options);
std::unique_ptr<Load> make_param_server(const LoadOptions& options);

}  // namespace gradsync
