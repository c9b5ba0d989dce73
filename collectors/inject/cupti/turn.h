// Whose turn it is to ask CUPTI: a word that is 1 while a thread does.
#pragma once

#include <stdint.h>
#include <time.h>

#include "src/spool_writer/atomics.h"

namespace gradsync::cupti {

// Who finds it taken does without.
class Turn {
 public:
  explicit Turn(uint32_t& word) : word_(word), taken_(spool::replace(&word, 0u, 1u)) {}
  ~Turn() {
    if (taken_) spool::store_release(&word_, 0u);
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  bool taken() const { return taken_; }

 private:
  uint32_t& word_;
  bool taken_;
};

// Waits a little for a thread that has it: it is about to be done. The caller sets the word to 0.
inline bool take_turn(uint32_t& word) {
  constexpr int kMilliseconds = 2000;
  for (int i = 0; i < kMilliseconds; ++i) {
    if (spool::replace(&word, 0u, 1u)) return true;
    const struct timespec millisecond = {0, 1'000'000};
    nanosleep(&millisecond, nullptr);
  }
  return false;
}

}  // namespace gradsync::cupti
