#include "src/spool_writer/chunks.h"

#include <sys/prctl.h>

#include "src/spool_writer/kernel.h"
#include "src/spool_writer/spool_file.h"

namespace gradsync::spool {
namespace {

constexpr uint32_t kWorthKeeping = 2 * kMaxStringBytes / kRecordBytes;  // room that the longest string fits in
constexpr uint32_t kNone = ~uint32_t{0};
constexpr uint32_t kSingleChunks = 2;  // reserved one at a time
constexpr uint32_t kBatchChunks = 4;

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

struct Batch {
  uint32_t first;
  uint32_t count;  // 0 = the bound is reached
};

// Small processes stay small: a helper that writes ten events takes one chunk of disk. Later on one reservation serves
// several chunks, because its cost (open, allocate, map) is per call.
Batch take_new_indices(ProcessState& process) {
  uint32_t first = load_relaxed(&process.chunks);
  while (first < process.max_chunks) {
    const uint32_t wanted = first < kSingleChunks ? 1 : kBatchChunks;
    const uint32_t count = wanted < process.max_chunks - first ? wanted : process.max_chunks - first;
    if (replace(&process.chunks, first, first + count)) return {first, count};
    first = load_relaxed(&process.chunks);
  }
  return {0, 0};
}

int64_t offset_of(uint32_t index) { return kHeaderBytes + int64_t{index} * kChunkBytes; }

bool map_batch(ProcessState& process, Batch batch) {
  const int fd = reopen_spool(process);
  if (fd < 0) return false;
  auto* memory = static_cast<Record*>(reserve_and_map(fd, offset_of(batch.first), batch.count * kChunkBytes));
  close_file(fd);
  if (memory == nullptr) return false;
  for (uint32_t i = 0; i < batch.count; ++i) {
    store_release(&process.mapped[batch.first + i], memory + uint64_t{i} * kRecordsPerChunk);
    if (i > 0) set_bit(process.ready, batch.first + i);
  }
  return true;
}

// Index of a mapped chunk that nobody has begun; kNone and lane.refusal when there is none.
uint32_t reserve_chunk(Lane& lane, ProcessState& process) {
  if (now() < load_relaxed(&process.retry_at_ns)) {
    lane.refusal = Refusal::no_space;
    return kNone;
  }
  Batch batch{take_bit(process.refused), 1};
  if (batch.first == kNone) batch = take_new_indices(process);
  if (batch.count == 0) {
    lane.refusal = Refusal::full;
    return kNone;
  }
  if (map_batch(process, batch)) return batch.first;
  // A disk too full for several chunks may still have room for one.
  for (uint32_t i = 1; i < batch.count; ++i) set_bit(process.refused, batch.first + i);
  if (batch.count > 1 && map_batch(process, {batch.first, 1})) return batch.first;
  set_bit(process.refused, batch.first);
  store_relaxed(&process.retry_at_ns, now() + kRetryNs);
  lane.refusal = Refusal::no_space;
  return kNone;
}

void describe_thread(ChunkHeader* header, uint32_t lane) {
  header->lane = lane;
  header->tid = thread_id();
  prctl(PR_GET_NAME, header->thread_name);
}

void begin_chunk(Lane& lane, ProcessState& process, uint32_t index) {
  Record* chunk = load_acquire(&process.mapped[index]);
  auto* header = reinterpret_cast<ChunkHeader*>(chunk);
  describe_thread(header, lane.ordinal);
  header->kind = Kind::chunk;
  store_release(&header->used, 1u);
  lane.chunk = chunk;
  lane.chunk_index = index;
  lane.next = 1;
  lane.room = kRecordsPerChunk - 1;
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
  index = take_bit(process.ready);
  if (index == kNone) index = reserve_chunk(lane, process);
  if (index == kNone) return false;
  begin_chunk(lane, process, index);
  return true;
}

void leave_chunk(Lane& lane, ProcessState& process) {
  if (lane.chunk == nullptr) return;
  if (lane.room >= kWorthKeeping) {
    set_bit(process.idle, lane.chunk_index);
  } else {
    give_memory_back(lane.chunk, offset_of(lane.chunk_index), kChunkBytes);
  }
  lane.chunk = nullptr;
  lane.room = 0;
}

}  // namespace gradsync::spool
