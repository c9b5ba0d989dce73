// Ranks over the fakes: each test says what is different on which rank, and gets what each rank ended with.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "collectors/fabric/nccl_backend.h"
#include "tests/fabric/rank_processes.h"

namespace gradsync {

// Variables of one rank's process.
using Variables = std::map<std::string, std::string>;

inline constexpr const char* kWholeNccl = "libnccl.so.2";

// This process uses the fakes from now on.
void use_fakes(const Variables& more);
std::string fake_file(const std::string& name);

// "error: <message> | <hint>"
std::string told(const Error& error);

struct FakeRanks {
  int ranks = 2;
  std::int64_t timeout_ms = 20'000;
  Variables all;                     // on every rank
  std::map<int, Variables> of_rank;  // on one, besides
  std::string interface_name;
};

using ConnectedRank = std::function<std::string(FabricBackend& backend, int rank, RankStore& store)>;

// What each rank said, by rank; "error: …" where the backend could not be made or connected, "ended with N: …" for a
// process that did not end well.
std::vector<std::string> run_fake_ranks(const FakeRanks& setting, const ConnectedRank& program);

// Prepares and runs `call` once and counts: "wrong 0, graph" or "wrong 3, no graph", or the error.
std::string measure_once(FabricBackend& backend, const FabricCall& call);

}  // namespace gradsync
