// Ranks of a test: forked processes that meet through files in a folder, and what each of them said.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "collectors/fabric/rank_store.h"

namespace gradsync {

// A store whose words are files. Slow and simple.
class FileStore final : public RankStore {
 public:
  FileStore(std::filesystem::path folder, int rank, int ranks)
      : folder_(std::move(folder)), rank_(rank), ranks_(ranks) {}
  Result<void> set(std::string_view key, std::string_view value) override;
  Result<std::string> get(std::string_view key, std::int64_t timeout_ms) override;
  Result<std::vector<std::string>> exchange(std::string_view round, std::string_view mine,
                                            std::int64_t timeout_ms) override;

 private:
  std::filesystem::path folder_;
  int rank_, ranks_;
};

struct RankEnd {
  int status = 0;    // of its exit; 128 + signal when it was killed, also by us at the limit
  std::string said;  // what the program returned
};

using RankProgram = std::function<std::string(int rank, RankStore& store)>;

// By rank. Each process ends with 0 unless the program ends it.
std::vector<RankEnd> run_ranks(int ranks, const RankProgram& program,
                               std::chrono::seconds limit = std::chrono::seconds(60));

}  // namespace gradsync
