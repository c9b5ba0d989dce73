#include "collectors/import/nsys_nccl.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace gradsync {
namespace {

constexpr std::size_t kMostCalls = std::size_t{1} << 22;

}  // namespace

void NcclCalls::add(const NcclCall& call) {
  if (calls_.size() < kMostCalls)
    calls_.push_back(call);
  else
    ++not_kept_;
}

void NcclCalls::finish() {
  std::stable_sort(calls_.begin(), calls_.end(), [](const NcclCall& a, const NcclCall& b) {
    return std::tie(a.thread, a.start) < std::tie(b.thread, b.start);
  });
  std::size_t depth = 0, first = 0;
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    const NcclCall& call = calls_[i];
    if (i > 0 && calls_[i - 1].thread != call.thread) depth = 0;
    if (call.group == NcclGroup::start) {
      if (depth++ == 0) first = i;
    } else if (call.group == NcclGroup::end) {
      if (depth > 0 && --depth == 0) windows_.push_back({call.thread, call.start, call.end, first, i, 0, {}});
    } else if (depth == 0) {
      windows_.push_back({call.thread, call.start, call.end, i, i + 1, 0, {}});
    }
  }
}

void NcclCalls::launch(std::int64_t thread, Nanoseconds start, std::int64_t correlation) {
  auto behind = std::upper_bound(
      windows_.begin(), windows_.end(), std::tie(thread, start),
      [](const auto& key, const Window& window) { return key < std::tie(window.thread, window.start); });
  if (behind == windows_.begin()) return;
  Window& window = *--behind;
  if (window.thread != thread || start > window.end) return;
  ++window.launches;
  window_of_[correlation] = static_cast<std::size_t>(behind - windows_.begin());
}

NcclMeaning NcclCalls::find(std::int64_t correlation) {
  const auto found = window_of_.find(correlation);
  if (found == window_of_.end()) return {};
  Window& window = windows_[found->second];
  if (!window.meaning) window.meaning = meaning_of(window);
  return *window.meaning;
}

std::span<const NcclCall> NcclCalls::calls_of(std::int64_t correlation) const {
  const auto found = window_of_.find(correlation);
  if (found == window_of_.end()) return {};
  const Window& window = windows_[found->second];
  return std::span(calls_).subspan(window.first, window.last - window.first);
}

NcclMeaning NcclCalls::meaning_of(const Window& window) const {
  NcclMeaning meaning;
  std::uint64_t sum = 0;
  bool any = false, alike = true, known = true;
  const NcclCall* one = nullptr;
  for (std::size_t i = window.first; i < window.last; ++i) {
    const NcclCall& call = calls_[i];
    if (call.operation.empty()) continue;
    if (one == nullptr) one = &call;
    alike = alike && call.operation == one->operation && call.arguments.bytes == one->arguments.bytes;
    if (!any) meaning = {call.operation, 0, call.arguments.communicator};
    if (call.operation != meaning.operation) meaning.operation = {};
    if (call.arguments.communicator != meaning.communicator) meaning.communicator.reset();
    any = true;
    if (call.operation == "recv") continue;  // its bytes are another rank's input
    known = known && call.arguments.bytes && !__builtin_add_overflow(sum, *call.arguments.bytes, &sum);
  }
  if (window.launches > 1) {
    if (!alike || one == nullptr) return {};
    sum = one->arguments.bytes.value_or(0);
  }
  if (known && sum <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    meaning.bytes = static_cast<std::int64_t>(sum);
  return meaning;
}

std::string communicator_name(std::uint64_t communicator) {
  std::string name(16, '0');
  for (std::size_t i = 16; i > 0; --i, communicator >>= 4) name[i - 1] = "0123456789abcdef"[communicator & 15];
  return name;
}

}  // namespace gradsync
