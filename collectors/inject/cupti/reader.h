// What CUPTI brings: the buffers that it asks for on any thread, and their records on the way into the spool.
#pragma once

#include "collectors/inject/cupti/buffers.h"
#include "collectors/inject/cupti/events.h"
#include "collectors/inject/cupti/session.h"
#include "src/spool_writer/atomics.h"

namespace gradsync::cupti {

// Zero when the library is loaded; one in a process, because CUPTI's callbacks carry nothing of ours.
class Reader {
 public:
  void prepare() { writer_.prepare(); }

  // Reads all buffers that are complete, unless another thread does; false then. Records that are older than
  // `earliest_ns` cannot be.
  bool read_all(const Session& session, int64_t earliest_ns);

  uint64_t requests() const { return spool::load_relaxed(&requests_); }
  uint64_t overhead_ns() const { return overhead_ns_; }  // CUPTI's own, by its records

  // The thread that reads sleeps until somebody wakes it, at most a second.
  uint32_t seen() const { return spool::load_acquire(&wake_); }
  void sleep(uint32_t seen);
  void wake();

  // CUPTI's callbacks.
  static void requested(uint8_t** buffer, size_t* bytes, size_t* most_records);
  static void completed(Context context, uint32_t stream, uint8_t* buffer, size_t bytes, size_t valid_bytes);

 private:
  void read_buffer(const Session& session, const BufferPool::Full& full, const ClockWindow& clock);

  BufferPool pool_;
  EventWriter writer_;
  uint32_t wake_;     // changes when there is something to do
  uint32_t reading_;  // 1 = a thread reads
  uint64_t requests_, bad_, discarded_, overhead_ns_;
};

extern Reader g_reader;

}  // namespace gradsync::cupti
