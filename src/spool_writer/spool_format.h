// The bytes of a spool: what one process of the observed job leaves behind.
//
//   events/<host>-<pid>.spool
//   ┌────────────────────────┐ 0
//   │ SpoolHeader, 4096 B    │  who, clocks, counters (counters are atomics, written while the job runs)
//   ├────────────────────────┤ 4096
//   │ chunk 0, kChunkBytes   │  record 0 = ChunkHeader (its thread, records committed so far), then records
//   ├────────────────────────┤
//   │ chunk 1 …              │  one thread writes one chunk at a time; a full chunk gets no more records, only ends
//   └────────────────────────┘
//
// A program that replaced itself (exec keeps the pid) goes on in <host>-<pid>-2.spool, -3 and so on.
// A chunk without a ChunkHeader was reserved and never begun. A ChunkHeader inside a chunk names the thread that goes on
// there after the one before it ended (its `used` is 0); events carry their lane anyway.
//
// Every record is 64 bytes. A record is addressed by its index in the file ("event reference"):
// chunk * kRecordsPerChunk + slot; reference 0 is a chunk header, hence "no event".
// A record whose `kind` is 0 was never written: the rest of that chunk is empty.
// An attribute record follows its event and names it by reference. A string record is followed by
// ceil(length / 64) raw records that hold the characters; string id 0 is the empty string.
// Readers skip kinds they do not know and count them; adding a kind or an attribute key never changes
// the version. All numbers are in the byte order of the machine that wrote them (`byte_order` tells).
//
// This header is shared by the writer, which runs inside the target without libstdc++, and the reader:
// only fixed-size integers, no functions.
#pragma once

#include <stdint.h>

namespace gradsync::spool {

inline constexpr char kMagic[8] = {'G', 'S', 'D', 'S', 'P', 'O', 'O', 'L'};
inline constexpr uint32_t kByteOrder = 0x01020304;
inline constexpr uint32_t kFormatVersion = 1;
inline constexpr uint32_t kHeaderBytes = 4096;
inline constexpr uint32_t kRecordBytes = 64;
inline constexpr uint32_t kChunkBytes = 64 * 1024;
inline constexpr uint32_t kRecordsPerChunk = kChunkBytes / kRecordBytes;
inline constexpr uint32_t kMaxChunks = 4096;        // 256 MiB: the hard bound of one process
inline constexpr uint64_t kNoEvent = 0;             // reference 0
inline constexpr uint64_t kProcess = ~uint64_t{0};  // attribute target: the process itself (a fact)
inline constexpr uint32_t kNoStep = 0xffffffff;
inline constexpr uint32_t kMaxStringBytes = 4096;  // longer strings are cut

// Values are part of the format: never renumber, only append.
enum class Kind : uint8_t {
  empty = 0,
  chunk = 1,       // ChunkHeader
  string = 2,      // StringRecord + raw records
  attribute = 3,   // AttributeRecord
  step = 4,        // one training iteration (flags bit 0 = deep window on; group = variant)
  range = 5,       // a named span of host work; `phase` says of what
  collective = 6,  // issue … completion of one collective; bytes = this rank's payload
  wait = 7,        // a thread blocked until a collective (correlation = its reference) is complete
  host_sync = 8,   // a blocking call that waits for the device, or reads a value from it
  host_call = 9,   // an API call worth an event (kernel launch …)
  kernel = 10,
  copy = 11,
  memset = 12,
  sched_wait = 13,
  irq = 14,
  softirq = 15,
  loss = 16,    // something that should be here is not: bytes = how many, name = why
  mark = 17,    // an instant (start == end)
  window = 18,  // a deep (profiler) window; clock pairs are attributes
};

enum class Phase : uint8_t {
  none = 0,
  forward = 1,
  backward = 2,
  optimizer = 3,
  data = 4,
  compress = 5,    // a comm hook or compression code before the collective is issued
  decompress = 6,  // reconstruction after it completed
};

enum class Source : uint8_t {
  unknown = 0,
  torch_hook = 1,
  nvtx = 2,
  nccl_nvtx = 3,
  profiler = 4,  // the framework's own profiler
  cupti = 5,
  host = 6,
  doctor = 7,
  ddp_logger = 8,
  nccl_wrapper = 9,  // our nccl* functions: a call's arguments
  nccl_plugin = 10,  // NCCL's profiler plug-in interface
};

inline constexpr uint8_t kFlagDeep = 1;          // step: the profiler window was open in it
inline constexpr uint8_t kFlagExtrapolated = 2;  // times or bytes were not observed for this very event
inline constexpr uint8_t kFlagAsync = 4;         // collective: issued with async_op
inline constexpr uint8_t kFlagInHook = 8;        // happened inside a DDP communication hook

struct Record {
  Kind kind;
  Phase phase;
  Source source;
  uint8_t flags;
  uint32_t lane;         // thread: ordinal within the process, in order of first event; streams: kLaneStream | id
  uint32_t step;         // process-wide step counter when the event began, or kNoStep
  uint32_t name;         // string id
  int64_t start_ns;      // CLOCK_MONOTONIC of the host
  int64_t end_ns;        // 0 while the event is open
  uint64_t correlation;  // reference of a related event, or the device's correlation id
  uint64_t bytes;
  uint32_t group;     // string id of the communicator; steps: variant
  uint32_t sequence;  // per group; hooks: bucket index
  uint64_t reserved;
};
static_assert(sizeof(Record) == kRecordBytes);

inline constexpr uint32_t kLaneStream = 0x80000000;

enum class AttributeType : uint8_t { integer = 0, string = 1 };

struct AttributeRecord {
  Kind kind;  // attribute
  AttributeType type;
  uint8_t reserved[2];
  uint32_t key;     // string id
  uint64_t target;  // event reference, or kProcess
  int64_t value;    // integer, or string id
  uint8_t padding[40];
};
static_assert(sizeof(AttributeRecord) == kRecordBytes);

struct StringRecord {
  Kind kind;  // string
  uint8_t reserved[3];
  uint32_t id;
  uint32_t length;  // bytes, without terminator
  uint8_t padding[52];
};
static_assert(sizeof(StringRecord) == kRecordBytes);

struct ChunkHeader {
  Kind kind;  // chunk
  uint8_t reserved[3];
  uint32_t lane;  // the writing thread's ordinal
  uint32_t tid;   // the operating system's thread id
  uint32_t used;  // records committed including this one; atomic release by the writer
  char thread_name[16];
  uint8_t padding[32];
};
static_assert(sizeof(ChunkHeader) == kRecordBytes);

struct SpoolHeader {
  char magic[8];
  uint32_t byte_order;
  uint32_t format_version;
  uint32_t header_bytes;
  uint32_t record_bytes;
  uint32_t chunk_bytes;
  uint32_t max_chunks;
  uint32_t pid;
  uint32_t parent_pid;
  int64_t monotonic_ns;  // both clocks read together when the file was made
  int64_t realtime_ns;
  char host[64];
  char command[256];  // argv joined by blanks, cut
  // counters, updated atomically while the process runs
  uint32_t chunks_used;
  uint32_t next_string;
  uint64_t dropped_full;      // events lost because the bound was reached
  uint64_t dropped_no_space;  // events lost because the disk refused a chunk
  uint64_t self_ns;           // time spent in our own callbacks, self-measured
  uint64_t nvtx_inits;        // client libraries that attached
  uint64_t exited_cleanly;    // 1 after exit handlers ran
  int64_t exit_ns;            // CLOCK_MONOTONIC of that moment
  uint64_t dropped_nested;    // events of a signal handler that interrupted the writer
  uint64_t strings_refused;   // strings that got id 0 because the string table was full
};
static_assert(sizeof(SpoolHeader) <= kHeaderBytes);

}  // namespace gradsync::spool
