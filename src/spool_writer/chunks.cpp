#include "src/spool_writer/chunks.h"

#include <sys/mman.h>
#include <sys/prctl.h>

#include "src/spool_writer/kernel.h"
#include "src/spool_writer/spool_file.h"

namespace gradsync::spool {
namespace {

constexpr uint32_t kWorthKeeping = 2 * kMaxStringBytes / kRecordBytes;  // room that the longest string fits in
constexpr uint32_t kNone = ~uint32_t{0};

void set_bit(uint64_t* bits, uint32_t index) {
  __atomic_fetch_or(&bits[index / 64], uint64_t{1} << (index % 64), __ATOMIC_ACQ_REL);
}

// Clears one set bit and returns its index, kNone when there is none.
uint32_t take_bit(uint64_t* bits) {
  for (uint32_t word = 0; word < kMaxChunks / 64; ++word) {
    uint64_t seen = load_relaxed(&bits[word]);
    while (seen != 0) {
      const uint64_t lowest = seen & -seen;
      const uint64_t before = __atomic_fetch_and(&bits[word], ~lowest, __ATOMIC_ACQ_REL);
      if ((before & lowest) != 0) return word * 64 + static_cast<uint32_t>(__builtin_ctzll(lowest));
      seen = load_relaxed(&bits[word]);
    }
  }
  return kNone;
}

uint32_t take_new_index(ProcessState& process) {
  uint32_t index = load_relaxed(&process.chunks);
  while (index < process.max_chunks) {
    if (replace(&process.chunks, index, index + 1)) return index;
    index = load_relaxed(&process.chunks);
  }
  return kNone;
}

Record* map_chunk(ProcessState& process, uint32_t index) {
  const int fd = reopen_spool(process);
  if (fd < 0) return nullptr;
  void* memory = reserve_and_map(fd, kHeaderBytes + int64_t{index} * kChunkBytes, kChunkBytes);
  close_file(fd);
  return static_cast<Record*>(memory);
}

void describe_thread(ChunkHeader* header, uint32_t lane) {
  header->lane = lane;
  header->tid = thread_id();
  prctl(PR_GET_NAME, header->thread_name);
}

void begin_chunk(Lane& lane, ProcessState& process, Record* chunk, uint32_t index) {
  auto* header = reinterpret_cast<ChunkHeader*>(chunk);
  describe_thread(header, lane.ordinal);
  header->kind = Kind::chunk;
  store_release(&header->used, 1u);
  lane.chunk = chunk;
  lane.chunk_index = index;
  lane.next = 1;
  lane.room = kRecordsPerChunk - 1;
  store_release(&process.mapped[index], chunk);
  raise_to(&process.header->chunks_used, index + 1);
}

// The chunk header names the thread that began the chunk; a second one, inside the chunk, names who goes on.
void continue_chunk(Lane& lane, ProcessState& process, uint32_t index) {
  Record* chunk = load_acquire(&process.mapped[index]);
  lane.chunk = chunk;
  lane.chunk_index = index;
  lane.next = load_acquire(&reinterpret_cast<ChunkHeader*>(chunk)->used);
  lane.room = kRecordsPerChunk - lane.next;
  auto* header = reinterpret_cast<ChunkHeader*>(chunk + lane.next);
  describe_thread(header, lane.ordinal);
  header->kind = Kind::chunk;
  publish(lane, 1);
}

}  // namespace

bool take_chunk(Lane& lane, ProcessState& process, uint32_t records) {
  static_assert(kWorthKeeping > 1 + kMaxStringBytes / kRecordBytes + 1, "a kept chunk must fit any request");
  if (records >= kWorthKeeping) return false;
  uint32_t index = take_bit(process.idle);
  if (index != kNone) {
    continue_chunk(lane, process, index);
    return true;
  }
  if (now() < load_relaxed(&process.retry_at_ns)) {
    lane.refusal = Refusal::no_space;
    return false;
  }
  index = take_bit(process.refused);
  if (index == kNone) index = take_new_index(process);
  if (index == kNone) {
    lane.refusal = Refusal::full;
    return false;
  }
  Record* chunk = map_chunk(process, index);
  if (chunk == nullptr) {
    set_bit(process.refused, index);
    store_relaxed(&process.retry_at_ns, now() + kRetryNs);
    lane.refusal = Refusal::no_space;
    return false;
  }
  begin_chunk(lane, process, chunk, index);
  return true;
}

void leave_chunk(Lane& lane, ProcessState& process) {
  if (lane.chunk == nullptr) return;
  if (lane.room >= kWorthKeeping) {
    set_bit(process.idle, lane.chunk_index);
  } else {
    madvise(lane.chunk, kChunkBytes, MADV_DONTNEED);
  }
  lane.chunk = nullptr;
  lane.room = 0;
}

}  // namespace gradsync::spool
