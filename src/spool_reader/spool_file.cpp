#include "src/spool_reader/spool_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "src/base/file.h"
#include "src/model/loss.h"
#include "src/spool_writer/spool_format.h"

namespace gradsync {
namespace {

static_assert(static_cast<int>(Kind::window) == static_cast<int>(spool::Kind::window));
static_assert(static_cast<int>(Kind::step) == static_cast<int>(spool::Kind::step));
static_assert(static_cast<int>(Phase::decompress) == static_cast<int>(spool::Phase::decompress));
static_assert(static_cast<int>(Source::nccl_plugin) == static_cast<int>(spool::Source::nccl_plugin));
static_assert(kNoStep == spool::kNoStep);

// A read-only mapping; empty files map to nothing.
class Mapping {
 public:
  explicit Mapping(const FileDescriptor& file) {
    struct stat info {};
    if (::fstat(file.get(), &info) != 0 || info.st_size <= 0) return;
    void* address = ::mmap(nullptr, static_cast<std::size_t>(info.st_size), PROT_READ, MAP_SHARED, file.get(), 0);
    if (address == MAP_FAILED) return;
    ::madvise(address, static_cast<std::size_t>(info.st_size), MADV_SEQUENTIAL);
    bytes_ = static_cast<const char*>(address);
    size_ = static_cast<std::size_t>(info.st_size);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() {
    if (bytes_ != nullptr) ::munmap(const_cast<char*>(bytes_), size_);
  }
  const char* bytes() const { return bytes_; }
  std::size_t size() const { return size_; }

 private:
  const char* bytes_ = nullptr;
  std::size_t size_ = 0;
};

std::string bounded_text(const char* text, std::size_t capacity) { return {text, ::strnlen(text, capacity)}; }

Result<spool::SpoolHeader> read_header(const Mapping& file, const std::string& path) {
  spool::SpoolHeader header;
  if (file.size() < spool::kHeaderBytes)
    return Error{"not a usable spool", path, "only " + std::to_string(file.size()) + " bytes long", "", 3};
  std::memcpy(&header, file.bytes(), sizeof header);
  if (std::memcmp(header.magic, spool::kMagic, sizeof header.magic) != 0)
    return Error{"not a spool", path, "it does not begin with GSDSPOOL", "", 3};
  if (header.byte_order == __builtin_bswap32(spool::kByteOrder))
    return Error{"cannot read spool", path, "it was recorded on a machine with the other byte order",
                 "analyze it on a machine of the same kind as the one that recorded it", 3};
  if (header.format_version > spool::kFormatVersion)
    return Error{"cannot read spool", path,
                 "format " + std::to_string(header.format_version) + " is newer than this program's " +
                     std::to_string(spool::kFormatVersion),
                 "use the gradsync-doctor that recorded it, or a later one", 3};
  if (header.byte_order != spool::kByteOrder || header.record_bytes != spool::kRecordBytes ||
      header.header_bytes != spool::kHeaderBytes || header.chunk_bytes != spool::kChunkBytes)
    return Error{"cannot read spool", path, "its header is damaged", "", 3};
  return header;
}

// Ids are given out in order from 1; the bound only keeps a damaged one from eating the memory.
constexpr std::uint32_t kMostStrings = 1U << 20;

// Walks the committed records of every chunk.
class SpoolParser {
 public:
  SpoolParser(const Mapping& file, const spool::SpoolHeader& header, EventSink& sink)
      : records_(reinterpret_cast<const spool::Record*>(file.bytes() + spool::kHeaderBytes)),
        record_count_((file.size() - spool::kHeaderBytes) / spool::kRecordBytes),
        header_(header),
        sink_(sink) {}

  SpoolStats parse() {
    announce_process();
    for_each_record([this](const spool::Record& record, std::uint64_t index) { note_string(record, index); });
    key_cache_.assign(names_.size(), NameId::none);
    for_each_record([this](const spool::Record& record, std::uint64_t index) { deliver(record, index); });
    report_losses();
    return stats_;
  }

 private:
  void announce_process() {
    ProcessInfo process;
    process.host = bounded_text(header_.host, sizeof header_.host);
    process.pid = header_.pid;
    process.parent_pid = header_.parent_pid;
    process.command = bounded_text(header_.command, sizeof header_.command);
    process.monotonic = header_.monotonic_ns;
    process.realtime = header_.realtime_ns;
    process.exited_cleanly = header_.exited_cleanly != 0;
    process.exit_time = header_.exit_ns;
    process.lost = header_.dropped_full + header_.dropped_no_space + header_.dropped_nested;
    process.self_ns = header_.self_ns;
    sink_.begin_process(process);
  }

  template <class Visit>
  void for_each_record(Visit visit) {
    for (std::uint64_t first = 0; first < record_count_; first += spool::kRecordsPerChunk) {
      spool::ChunkHeader chunk;
      std::memcpy(&chunk, records_ + first, sizeof chunk);
      if (chunk.kind != spool::Kind::chunk) continue;  // reserved, never used
      std::uint64_t used = std::min<std::uint64_t>(chunk.used, spool::kRecordsPerChunk);
      used = std::min<std::uint64_t>(used, record_count_ - first);
      for (std::uint64_t slot = 1; slot < used; ++slot) {
        const spool::Record& record = records_[first + slot];
        visit(record, first + slot);
        if (record.kind == spool::Kind::string) slot += string_records(record);
      }
    }
  }

  static std::uint64_t string_records(const spool::Record& record) {
    spool::StringRecord string;
    std::memcpy(&string, &record, sizeof string);
    const std::uint32_t length = std::min(string.length, spool::kMaxStringBytes);
    return (length + spool::kRecordBytes - 1) / spool::kRecordBytes;
  }

  void note_string(const spool::Record& record, std::uint64_t index) {
    if (record.kind != spool::Kind::string) return;
    spool::StringRecord string;
    std::memcpy(&string, &record, sizeof string);
    if (string.id > kMostStrings || index + 1 + string_records(record) > record_count_) return;
    if (names_.size() <= string.id) names_.resize(string.id + 1);
    names_[string.id] = {reinterpret_cast<const char*>(records_ + index + 1),
                         std::min(string.length, spool::kMaxStringBytes)};
  }

  std::string_view text(std::uint64_t id) const { return id < names_.size() ? names_[id] : std::string_view{}; }

  NameId name(std::uint64_t id) {
    if (id == 0 || id >= names_.size()) return NameId::none;
    if (key_cache_[id] == NameId::none) key_cache_[id] = sink_.intern(names_[id]);
    return key_cache_[id];
  }

  void deliver(const spool::Record& record, std::uint64_t index) {
    const auto kind = static_cast<std::uint8_t>(record.kind);
    if (index % spool::kRecordsPerChunk == 1) announce_lane(index - 1);
    if (record.kind == spool::Kind::chunk) return announce_lane(index);  // another thread goes on in this chunk
    if (record.kind == spool::Kind::string) return;
    if (record.kind == spool::Kind::attribute) return deliver_attribute(record);
    if (kind < static_cast<std::uint8_t>(Kind::step) || kind > static_cast<std::uint8_t>(Kind::window)) {
      stats_.unknown_kinds += record.kind != spool::Kind::empty;
      return;
    }
    Event event;
    event.kind = static_cast<Kind>(kind);
    event.phase = static_cast<Phase>(record.phase);
    event.source = static_cast<Source>(record.source);
    event.flags = record.flags;
    event.lane = LaneId{record.lane};
    event.step = record.step;
    event.name = name(record.name);
    event.start = record.start_ns;
    event.end = record.end_ns;
    event.correlation = record.correlation;
    event.bytes = static_cast<std::int64_t>(record.bytes);
    event.group = event.kind == Kind::step ? NameId{record.group} : name(record.group);
    event.sequence = record.sequence;
    event.reference = index;
    sink_.event(event);
    ++stats_.events;
  }

  void announce_lane(std::uint64_t chunk_index) {
    spool::ChunkHeader chunk;
    std::memcpy(&chunk, records_ + chunk_index, sizeof chunk);
    sink_.lane({LaneId{chunk.lane}, chunk.tid, bounded_text(chunk.thread_name, sizeof chunk.thread_name)});
  }

  void deliver_attribute(const spool::Record& record) {
    spool::AttributeRecord attribute;
    std::memcpy(&attribute, &record, sizeof attribute);
    ++stats_.attributes;
    const auto value = static_cast<std::uint64_t>(attribute.value);
    const bool is_string = attribute.type == spool::AttributeType::string;
    if (attribute.target == spool::kProcess)
      sink_.fact(text(attribute.key), is_string ? std::string(text(value)) : std::to_string(attribute.value));
    else if (is_string)
      sink_.attribute(attribute.target, name(attribute.key), name(value));
    else
      sink_.attribute(attribute.target, name(attribute.key), attribute.value);
  }

  void report_losses() {
    lose(header_.dropped_full, "the spool's size bound was reached");
    lose(header_.dropped_no_space, "no space left for the recording");
    lose(header_.dropped_nested, "a signal handler's events inside the writer");
    const std::uint64_t promised = std::min(header_.chunks_used, spool::kMaxChunks);
    const std::uint64_t present = record_count_ / spool::kRecordsPerChunk;
    if (present < promised) {
      stats_.lost_records = promised * spool::kRecordsPerChunk - record_count_;
      lose(stats_.lost_records, "the spool file was cut");
    }
  }

  void lose(std::uint64_t count, std::string_view why) {
    if (count == 0) return;
    sink_.event(loss_event(sink_.intern(why), Source::doctor, count));
  }

  const spool::Record* records_;
  std::uint64_t record_count_;
  const spool::SpoolHeader& header_;
  EventSink& sink_;
  std::vector<std::string_view> names_;
  std::vector<NameId> key_cache_;
  SpoolStats stats_;
};

}  // namespace

Result<SpoolStats> read_spool(const std::filesystem::path& path, EventSink& sink) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file) return Error{"cannot read spool", path.string(), errno_text(errno), "", 3};
  const Mapping mapping(file);
  const Result<spool::SpoolHeader> header = read_header(mapping, path.string());
  if (!header) return header.error();
  return SpoolParser(mapping, *header, sink).parse();
}

}  // namespace gradsync
