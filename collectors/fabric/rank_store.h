// RankStore: words that ranks leave for each other while they meet, and between measurements: one rank keeps them, all
// reach it over TCP. Used by one thread of each rank.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/result.h"

namespace gradsync {

class RankStore {
 public:
  virtual ~RankStore() = default;
  virtual Result<void> set(std::string_view key, std::string_view value) = 0;
  // Waits until some rank has set it. Error: time-out, or the rank that keeps the store is gone.
  virtual Result<std::string> get(std::string_view key, std::int64_t timeout_ms) = 0;
  // What every rank hands in, by rank, to every rank: a barrier that carries a word. `round` names it; it must be new
  // each time and the same everywhere. Error: who is missing after the time-out.
  virtual Result<std::vector<std::string>> exchange(std::string_view round, std::string_view mine,
                                                    std::int64_t timeout_ms) = 0;
};

}  // namespace gradsync
