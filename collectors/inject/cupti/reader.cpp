#include "collectors/inject/cupti/reader.h"

#include <linux/futex.h>

#include "src/spool_writer/atomics.h"
#include "src/spool_writer/kernel.h"

namespace gradsync::cupti {

Reader g_reader;

namespace {

constexpr int64_t kAheadNs = 1'000'000;                   // times on the device are interpolated
constexpr uint32_t kManyFull = BufferPool::kBuffers / 4;  // the reader is woken before its second is over
constexpr size_t kLargestRecord = 224;                    // a kernel's, CUDA 13.1

}  // namespace

void Reader::requested(uint8_t** buffer, size_t* bytes, size_t* most_records) {
  const BufferPool::Lent lent = g_reader.pool_.lend();
  *buffer = lent.bytes;
  *bytes = lent.size;
  *most_records = 0;
  spool::add_relaxed(&g_reader.requests_, uint64_t{1});
}

void Reader::completed(Context, uint32_t, uint8_t* buffer, size_t, size_t valid_bytes) {
  const BufferPool::Returned returned = g_reader.pool_.take_back(buffer, valid_bytes);
  if (returned == BufferPool::Returned::discarded)
    spool::add_relaxed(&g_reader.discarded_, uint64_t{(valid_bytes + kLargestRecord - 1) / kLargestRecord});
  if (returned == BufferPool::Returned::kept && g_reader.pool_.full() >= kManyFull) g_reader.wake();
}

void Reader::wake() {
  spool::add_relaxed(&wake_, 1u);
  syscall(SYS_futex, &wake_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

void Reader::sleep(uint32_t seen) {
  const struct timespec second = {1, 0};
  syscall(SYS_futex, &wake_, FUTEX_WAIT_PRIVATE, seen, &second, nullptr, 0);
}

void Reader::read_buffer(const Session& session, const BufferPool::Full& full, const ClockWindow& clock) {
  ActivityRecord* record = nullptr;
  Activity activity;
  while ((record = session.next(full.bytes, full.valid_bytes, record)) != nullptr) {
    switch (decode(record, clock, activity)) {
      case Decoded::event:
        writer_.write(activity);
        break;
      case Decoded::overhead:
        overhead_ns_ += static_cast<uint64_t>(activity.end_ns - activity.start_ns);
        break;
      case Decoded::bad:
        ++bad_;
        break;
      case Decoded::ignored:
        break;
    }
  }
}

bool Reader::read_all(const Session& session, int64_t earliest_ns) {
  if (!spool::replace(&reading_, 0u, 1u)) return false;
  const int64_t offset_ns = session.offset_ns();
  for (BufferPool::Full full = pool_.take_full(); full.bytes != nullptr; full = pool_.take_full()) {
    read_buffer(session, full, {offset_ns, earliest_ns, spool::now() + kAheadNs});
    pool_.give_back(full);
  }
  write_loss(bad_, "CUPTI records whose times cannot be");
  bad_ = 0;
  write_loss(spool::swap(&discarded_, uint64_t{0}), "CUPTI records for which no buffer was free, at least");
  write_loss(session.dropped(nullptr, 0), "CUPTI records that CUPTI dropped");
  spool::store_release(&reading_, 0u);
  return true;
}

}  // namespace gradsync::cupti
