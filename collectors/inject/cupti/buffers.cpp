#include "collectors/inject/cupti/buffers.h"

#include <sys/mman.h>

#include "src/spool_writer/atomics.h"

namespace gradsync::cupti {

BufferPool::Lent BufferPool::lend() {
  const uint32_t first = spool::add_relaxed(&next_, 1u);
  for (uint32_t i = 0; i < kBuffers; ++i) {
    Buffer& buffer = buffers_[(first + i) % kBuffers];
    if (!spool::replace(&buffer.state, State::free, State::lent)) continue;
    if (buffer.bytes == nullptr) {
      void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (memory == MAP_FAILED) {
        spool::store_release(&buffer.state, State::free);
        break;
      }
      spool::store_release(&buffer.bytes, static_cast<uint8_t*>(memory));
    }
    return {buffer.bytes, kBytes};
  }
  return {discard(), kDiscardBytes};
}

uint8_t* BufferPool::discard() { return discards_[spool::add_relaxed(&next_discard_, 1u) % kDiscards]; }

BufferPool::Returned BufferPool::take_back(const uint8_t* buffer, size_t valid_bytes) {
  if (buffer >= discards_[0] && buffer < discards_[0] + sizeof discards_) return Returned::discarded;
  for (Buffer& ours : buffers_) {
    if (buffer == nullptr || spool::load_acquire(&ours.bytes) != buffer) continue;
    const size_t valid = valid_bytes < kBytes ? valid_bytes : kBytes;
    ours.valid_bytes = valid;
    spool::store_release(&ours.state, valid == 0 ? State::free : State::full);  // from here on it is another thread's
    return valid == 0 ? Returned::empty : Returned::kept;
  }
  return Returned::foreign;
}

BufferPool::Full BufferPool::take_full() {
  for (uint32_t i = 0; i < kBuffers; ++i) {
    Buffer& buffer = buffers_[i];
    if (spool::load_relaxed(&buffer.state) != State::full) continue;
    if (spool::replace(&buffer.state, State::full, State::reading)) return {buffer.bytes, buffer.valid_bytes, i};
  }
  return {nullptr, 0, 0};
}

void BufferPool::give_back(const Full& full) { spool::store_release(&buffers_[full.index].state, State::free); }

uint32_t BufferPool::full() const {
  uint32_t count = 0;
  for (const Buffer& buffer : buffers_) count += spool::load_relaxed(&buffer.state) == State::full ? 1 : 0;
  return count;
}

}  // namespace gradsync::cupti
