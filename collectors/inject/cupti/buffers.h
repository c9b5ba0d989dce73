// The buffers that CUPTI fills: a fixed pool without a lock. A request may come on any thread of the job and takes a
// free one with one compare-and-swap; the collector's thread reads completed ones and frees them.
//
//   free ──request──▶ lent ──completed──▶ full ──take_full──▶ reading ──give_back──▶ free
//
// When none is free, or memory is refused, a discard buffer is lent: what is in it is never read, only counted. CUPTI
// before CUDA 12.9 crashes on a request that is answered with null.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace gradsync::cupti {

class BufferPool {
 public:
  static constexpr uint32_t kBuffers = 64;
  static constexpr size_t kBytes = size_t{1} << 20;  // 4,800 kernels; at most 64 MiB are touched
  static constexpr uint32_t kDiscards = 16;
  static constexpr size_t kDiscardBytes = size_t{1} << 14;

  struct Lent {
    uint8_t* bytes;
    size_t size;
  };
  // Never null. Any thread.
  Lent lend();

  enum class Returned : uint8_t {
    kept,       // it waits to be read
    empty,      // nothing in it; free again
    discarded,  // a discard buffer: its records are lost
    foreign,    // none of ours: another tool's, or of before a fork
  };
  Returned take_back(const uint8_t* buffer, size_t valid_bytes);

  struct Full {
    uint8_t* bytes;  // null: there is none
    size_t valid_bytes;
    uint32_t index;
  };
  Full take_full();
  void give_back(const Full& full);

  uint32_t full() const;  // buffers that wait

 private:
  enum class State : uint32_t { free, lent, full, reading };
  struct Buffer {
    State state;
    uint8_t* bytes;  // mapped at its first use, never unmapped
    size_t valid_bytes;
  };
  uint8_t* discard();

  Buffer buffers_[kBuffers];
  uint32_t next_;
  uint32_t next_discard_;
  uint8_t discards_[kDiscards][kDiscardBytes] __attribute__((aligned(8)));
};

}  // namespace gradsync::cupti
