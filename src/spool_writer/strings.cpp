#include "src/spool_writer/strings.h"

#include <string.h>
#include <sys/mman.h>

#include "src/spool_writer/atomics.h"
#include "src/spool_writer/process_state.h"

namespace gradsync::spool {
namespace {

constexpr uint32_t kGrain = 16;  // arena offsets are counted in grains, 0 = no entry

struct Entry {
  uint64_t hash;
  uint32_t id;
  uint32_t length;
  uint32_t written_epoch;  // the spool that has it
  char text[4];            // longer in fact, NUL-terminated
};
constexpr uint32_t kEntryBytes = offsetof(Entry, text);

struct Table {
  uint32_t next_id;      // ids given out + 1
  uint32_t used_grains;  // of the arena
  uint32_t slots[kStringSlots];
  uint32_t by_id[kMaxStrings];
  alignas(kGrain) char arena[kArenaBytes];
};

Table* g_table = nullptr;

Entry* entry_at(uint32_t grain) { return reinterpret_cast<Entry*>(g_table->arena + uint64_t{grain} * kGrain); }

// Eight bytes at a time; quality matters little, strings are compared anyway.
uint64_t hash_of(const char* text, uint32_t length) {
  uint64_t hash = 0x9e3779b97f4a7c15u ^ length;
  uint64_t word;
  for (; length >= 8; length -= 8, text += 8) {
    memcpy(&word, text, 8);
    hash = (hash ^ word) * 0xff51afd7ed558ccdu;
    hash ^= hash >> 32;
  }
  word = 0;
  memcpy(&word, text, length);
  hash = (hash ^ word) * 0xff51afd7ed558ccdu;
  return hash ^ hash >> 32;
}

// Longer texts are cut, not inside a UTF-8 character.
uint32_t cut(const char* text, uint32_t length) {
  if (length <= kMaxStringBytes) return length;
  length = kMaxStringBytes;
  while (length > kMaxStringBytes - 4 && (static_cast<unsigned char>(text[length]) & 0xc0) == 0x80) --length;
  return length;
}

// Returns the grain of a new, unpublished entry; 0 when the arena is full.
uint32_t make_entry(const char* text, uint32_t length, uint64_t hash) {
  const uint32_t grains = (kEntryBytes + length + 1 + kGrain - 1) / kGrain;
  if (load_relaxed(&g_table->next_id) >= kMaxStrings) return 0;
  if (load_relaxed(&g_table->used_grains) + grains >= kArenaBytes / kGrain) return 0;
  const uint32_t grain = add_relaxed(&g_table->used_grains, grains) + 1;
  const uint32_t id = add_relaxed(&g_table->next_id, 1u) + 1;
  if (grain + grains > kArenaBytes / kGrain || id >= kMaxStrings) return 0;
  Entry* entry = entry_at(grain);
  entry->hash = hash;
  entry->id = id;
  entry->length = length;
  memcpy(entry->text, text, length);
  return grain;
}

Entry* find_or_make(const char* text, uint32_t length) {
  const uint64_t hash = hash_of(text, length);
  uint32_t made = 0;
  for (uint32_t probe = 0; probe < kStringSlots; ++probe) {
    uint32_t* slot = &g_table->slots[(hash + probe) % kStringSlots];
    uint32_t grain = load_acquire(slot);
    if (grain == 0) {
      if (made == 0 && (made = make_entry(text, length, hash)) == 0) return nullptr;
      if (replace(slot, 0u, made)) {
        store_ordered(&g_table->by_id[entry_at(made)->id], made);
        return entry_at(made);
      }
      grain = load_acquire(slot);
    }
    Entry* entry = entry_at(grain);
    if (entry->hash == hash && entry->length == length && memcmp(entry->text, text, length) == 0) return entry;
  }
  return nullptr;
}

// False when there is no room now.
bool write_string(Lane& lane, Entry* entry) {
  const uint32_t epoch = Lane::process_epoch();
  const uint32_t before = load_relaxed(&entry->written_epoch);
  // The thread that wins this writes; nobody else may, so that a string is in the file once.
  if (before == epoch || !replace(&entry->written_epoch, before, epoch)) return true;
  const uint32_t records = 1 + (entry->length + kRecordBytes - 1) / kRecordBytes;
  Record* room = claim(lane, records);
  if (room == nullptr || lane.epoch != epoch) {
    store_relaxed(&entry->written_epoch, 0u);
    return false;
  }
  memcpy(static_cast<void*>(room + 1), entry->text, entry->length);
  auto* record = reinterpret_cast<StringRecord*>(room);
  record->id = entry->id;
  record->length = entry->length;
  record->kind = Kind::string;
  publish(lane, records);
  raise_to(&g_process->header->next_string, entry->id + 1);
  return true;
}

}  // namespace

bool make_string_table() {
  if (g_table != nullptr) return true;
  void* memory =
      mmap(nullptr, sizeof(Table), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  madvise(memory, sizeof(Table), MADV_NOHUGEPAGE);  // it is touched here and there: 2 MiB pages would be mostly air
  g_table = static_cast<Table*>(memory);
  return true;
}

uint32_t intern(const char* text, uint32_t length) {
  if (length == 0) return 0;
  const Entry* entry = find_or_make(text, cut(text, length));
  return entry == nullptr ? 0 : entry->id;
}

uint32_t string_id(Lane& lane, const char* text, uint32_t length) {
  if (length == 0) return 0;
  Entry* entry = find_or_make(text, cut(text, length));
  if (entry == nullptr) {
    count_lost(&SpoolHeader::strings_refused);
    return 0;
  }
  // Either we see the open spool here, or its opener sees our entry in write_missing_strings.
  const uint32_t epoch = load_ordered(&g_process->epoch);
  if (epoch != 0 && load_relaxed(&entry->written_epoch) != epoch) {
    // Interrupted our own writing, or no room: the next chunk, or the goodbye, brings it.
    Busy busy(lane);
    if (!busy.entered() || !write_string(lane, entry)) store_relaxed(&g_process->unwritten_strings, 1u);
  }
  return entry->id;
}

const char* text_of(uint32_t id) {
  if (id == 0 || id >= kMaxStrings) return "";
  const uint32_t grain = load_acquire(&g_table->by_id[id]);
  return grain == 0 ? "" : entry_at(grain)->text;
}

uint32_t id_of_interned(const char* text) { return reinterpret_cast<const Entry*>(text - kEntryBytes)->id; }

void write_missing_strings(Lane& lane) {
  const uint32_t end = load_relaxed(&g_table->next_id);
  for (uint32_t id = 1; id <= end && id < kMaxStrings; ++id) {
    const uint32_t grain = load_ordered(&g_table->by_id[id]);
    if (grain != 0 && !write_string(lane, entry_at(grain))) {
      store_relaxed(&g_process->unwritten_strings, 1u);
      return;
    }
  }
}

}  // namespace gradsync::spool
