// A bounded map from one non-zero 64-bit key to one value, without a lock: our names for the handles of the tool that
// comes after us. A key lives within a window of slots behind its hash; when the window is full it is not kept.
// Zero-initialised memory is an empty map.
#pragma once

#include <stdint.h>

#include "src/spool_writer/atomics.h"

namespace gradsync {

template <uint32_t kSlots>
class SideMap {
 public:
  // Replaces the value of a key that is there.
  bool put(uint64_t key, uint64_t value) {
    if (key == 0) return false;
    Slot* free_slot = nullptr;
    for (uint32_t i = 0; i < kWindow; ++i) {
      Slot* slot = at(key, i);
      const uint64_t seen = spool::load_acquire(&slot->key);
      if (seen == key) {
        spool::store_release(&slot->value, value);
        return true;
      }
      if (seen == 0 && free_slot == nullptr) free_slot = slot;
    }
    for (; free_slot != nullptr; free_slot = next_free(key)) {
      if (!spool::replace(&free_slot->key, uint64_t{0}, key)) continue;
      spool::store_release(&free_slot->value, value);
      return true;
    }
    return false;
  }

  // 0 when the key is not there.
  uint64_t get(uint64_t key) const {
    const Slot* slot = find(key);
    return slot == nullptr ? 0 : spool::load_acquire(&slot->value);
  }

  uint64_t take(uint64_t key) {
    Slot* slot = const_cast<Slot*>(find(key));
    if (slot == nullptr) return 0;
    const uint64_t value = spool::swap(&slot->value, uint64_t{0});
    spool::store_release(&slot->key, uint64_t{0});
    return value;
  }

 private:
  struct Slot {
    uint64_t key;
    uint64_t value;
  };
  static constexpr uint32_t kWindow = 64;
  static_assert((kSlots & (kSlots - 1)) == 0 && kSlots > kWindow);

  static uint32_t home(uint64_t key) { return static_cast<uint32_t>((key * 0x9e3779b97f4a7c15u) >> 32); }
  Slot* at(uint64_t key, uint32_t i) { return &slots_[(home(key) + i) % kSlots]; }

  // Keys may be taken in between, so the search cannot stop at an empty slot.
  const Slot* find(uint64_t key) const {
    if (key == 0) return nullptr;
    for (uint32_t i = 0; i < kWindow; ++i) {
      const Slot* slot = &slots_[(home(key) + i) % kSlots];
      if (spool::load_acquire(&slot->key) == key) return slot;
    }
    return nullptr;
  }

  Slot* next_free(uint64_t key) {
    for (uint32_t i = 0; i < kWindow; ++i) {
      if (spool::load_acquire(&at(key, i)->key) == 0) return at(key, i);
    }
    return nullptr;
  }

  Slot slots_[kSlots];
};

}  // namespace gradsync
