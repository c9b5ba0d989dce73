// Which NCCL call launched which kernel: the kernel's own record tells neither size nor communicator, the call's NVTX
// range does. Calls of one rank; first all calls, then all launches, then the kernels ask. Memory: the calls.
//
//   thread   [ncclAllReduce  launch 7 ]        [GroupStart][Send][Recv][GroupEnd  launch 9 ]
//   stream              (kernel 7)                                          (kernel 9)
//
// A group that launched one kernel gives it the sum of its calls. Where one launched several, and its calls differ,
// which is which is not known and nothing is said.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "collectors/import/nsys_names.h"
#include "collectors/import/nsys_payload.h"
#include "src/model/event.h"

namespace gradsync {

struct NcclCall {
  std::int64_t thread = 0;
  Nanoseconds start = 0, end = 0;
  std::string_view operation;  // canonical, a constant; empty for group calls
  NcclGroup group = NcclGroup::none;
  NcclArguments arguments;
  std::size_t event = 0;  // the caller's own number of it
};

struct NcclMeaning {
  std::string_view operation;  // empty: several, or unknown
  std::int64_t bytes = 0;      // 0 = unknown
  std::optional<std::uint64_t> communicator;
};

class NcclCalls {
 public:
  void add(const NcclCall& call);
  // No more calls come: which stretches of time launch for which.
  void finish();
  void launch(std::int64_t thread, Nanoseconds start, std::int64_t correlation);
  // Nothing known, too, when the call is not among them.
  NcclMeaning find(std::int64_t correlation);
  // Those that this launch can stand for, in the order of time, calls of groups among them.
  std::span<const NcclCall> calls_of(std::int64_t correlation) const;

  bool empty() const { return calls_.empty(); }
  std::uint64_t not_kept() const { return not_kept_; }

 private:
  struct Window {
    std::int64_t thread = 0;
    Nanoseconds start = 0, end = 0;
    std::size_t first = 0, last = 0;  // of calls_
    std::uint32_t launches = 0;
    std::optional<NcclMeaning> meaning;  // once it was asked for
  };
  NcclMeaning meaning_of(const Window& window) const;

  std::vector<NcclCall> calls_;
  std::vector<Window> windows_;
  std::unordered_map<std::int64_t, std::size_t> window_of_;  // by correlation
  std::uint64_t not_kept_ = 0;
};

// 16 hex digits, as the injected collector writes it.
std::string communicator_name(std::uint64_t communicator);

}  // namespace gradsync
