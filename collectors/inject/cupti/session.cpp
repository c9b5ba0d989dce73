#include "collectors/inject/cupti/session.h"

#include "collectors/inject/cupti/calls.h"
#include "src/spool_writer/kernel.h"

namespace gradsync::cupti {
namespace {

uint64_t monotonic_ns() { return static_cast<uint64_t>(spool::now()); }

// CONCURRENT_KERNEL, never KERNEL: that one serialises the device. The kernel first: it tells whether CUPTI works here.
constexpr ActivityKind kKinds[] = {ActivityKind::concurrent_kernel, ActivityKind::memcpy,
                                   ActivityKind::memcpy_peer,       ActivityKind::memset,
                                   ActivityKind::overhead,          ActivityKind::synchronization};

}  // namespace

void Session::choose_clock() {
  const Functions& call = library_.call;
  if (call.register_timestamp_callback == nullptr || has_profiling_framework()) return;
  stamps_monotonic_ = call.register_timestamp_callback(monotonic_ns) == Statuses::success;
}

Status Session::enable(BufferRequested requested, BufferCompleted completed, Watch watch, Calls calls) {
  const Functions& call = library_.call;
  if (call.set_thread_id_type != nullptr && call.get_thread_id_type != nullptr) {
    thread_ids_before_ = ThreadIdType::posix;
    call.get_thread_id_type(&thread_ids_before_);
    call.set_thread_id_type(ThreadIdType::system);
  }
  if (!registered_) {
    if (const Status status = call.register_callbacks(requested, completed)) return status;
    registered_ = true;
  }
  Status status = Statuses::success;
  for (const ActivityKind kind : kKinds) {
    const Status answer = call.enable(kind);
    if (answer == Statuses::success) enabled_[enabled_count_++] = kind;
    if (kind == ActivityKind::concurrent_kernel && answer != Statuses::success) {
      disable();
      return answer;
    }
  }
  // With it a graph is one record, and the kernels inside are none: for a whole run, not for a few steps.
  if (watch == Watch::always && call.enable(ActivityKind::graph_trace) == Statuses::success)
    enabled_[enabled_count_++] = ActivityKind::graph_trace;
  status = enable_calls(calls);
  if (status != Statuses::success) disable();
  return status;
}

Status Session::enable_calls(Calls calls) {
  if (calls == Calls::none) return Statuses::success;
  const Functions& call = library_.call;
  by_call_ = calls == Calls::known && call.enable_runtime_call != nullptr && call.enable_driver_call != nullptr;
  for (uint32_t i = 0; by_call_ && i < call_count(); ++i) {
    const KnownCall& known = known_calls()[i];
    auto* enable = known.api == Api::runtime ? call.enable_runtime_call : call.enable_driver_call;
    enable(known.call, 1);  // an older library lacks the youngest calls
  }
  if (by_call_) return Statuses::success;
  static constexpr ActivityKind kBoth[] = {ActivityKind::runtime, ActivityKind::driver};
  for (const ActivityKind kind : kBoth) {
    if (const Status status = call.enable(kind)) return status;
    enabled_[enabled_count_++] = kind;
  }
  return Statuses::success;
}

void Session::disable_calls() {
  const Functions& call = library_.call;
  for (uint32_t i = 0; by_call_ && i < call_count(); ++i) {
    const KnownCall& known = known_calls()[i];
    auto* enable = known.api == Api::runtime ? call.enable_runtime_call : call.enable_driver_call;
    enable(known.call, 0);
  }
  by_call_ = false;
}

void Session::disable() {
  const Functions& call = library_.call;
  disable_calls();
  while (enabled_count_ > 0) call.disable(enabled_[--enabled_count_]);
  if (call.set_thread_id_type != nullptr && call.get_thread_id_type != nullptr)
    call.set_thread_id_type(thread_ids_before_);
}

// The pair of reads that were closest together bounds the error.
int64_t Session::offset_ns() const {
  if (stamps_monotonic_) return 0;
  constexpr int kPairs = 32;
  int64_t offset = 0, least = INT64_MAX;
  for (int i = 0; i < kPairs; ++i) {
    uint64_t theirs = 0;
    const int64_t before = spool::now();
    if (library_.call.get_timestamp(&theirs) != Statuses::success) continue;
    const int64_t after = spool::now();
    if (after - before >= least) continue;
    least = after - before;
    offset = before + least / 2 - static_cast<int64_t>(theirs);
  }
  return offset;
}

ActivityRecord* Session::next(uint8_t* buffer, size_t valid_bytes, ActivityRecord* record) const {
  return library_.call.get_next_record(buffer, valid_bytes, &record) == Statuses::success ? record : nullptr;
}

size_t Session::dropped(Context context, uint32_t stream) const {
  size_t count = 0;
  return library_.call.dropped_records(context, stream, &count) == Statuses::success ? count : 0;
}

}  // namespace gradsync::cupti
