// String ids of the texts that a thread named last. Most texts are literals that come again at the same address;
// comparing with what that address held last is cheaper than hashing, and safe when the memory was reused.
// Zero-initialised memory knows none.
#pragma once

#include <stdint.h>
#include <string.h>

#include "src/spool_writer/gsd.h"
#include "src/spool_writer/strings.h"

namespace gradsync {

class RecentNames {
 public:
  // Of a NUL-terminated text; 0 for null.
  uint32_t id_of(const char* text) {
    if (text == nullptr) return 0;
    const auto address = reinterpret_cast<uint64_t>(text);
    const char*& name = names_[(address >> 3 ^ address >> 9) % kNames];
    if (name != nullptr && strcmp(name, text) == 0) return spool::id_of_interned(name);
    const uint32_t id = gsd_string(text, -1);
    const char* kept = spool::text_of(id);
    // A text that was cut, or for which there was no room, is looked up every time.
    if (id != 0 && strcmp(kept, text) == 0) name = kept;
    return id;
  }

 private:
  static constexpr uint32_t kNames = 64;
  const char* names_[kNames];  // interned copies: they never move
};

}  // namespace gradsync
