// How the ranks of a sweep meet: forked here or started by a launcher, joined through one store, with one backend
// between them. What start_sweep() does, in pieces.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "collectors/fabric/forked_ranks.h"
#include "collectors/fabric/place.h"
#include "collectors/fabric/store_server.h"
#include "collectors/fabric/sweep_session.h"
#include "collectors/fabric/tcp_store.h"

namespace gradsync {

// Ends in reverse order: the backend's connections, goodbye to the store, the store, the processes.
struct MetRanks {
  std::unique_ptr<ForkedRanks> forked;  // rank 0 of a sweep that forked
  std::unique_ptr<StoreServer> server;  // rank 0
  std::unique_ptr<TcpStore> store;
  FabricPlace place;
  std::string launcher;  // "forked here", torchrun, …
};

// What the ranks know of each other once they met.
struct RankHosts {
  int hosts = 1;  // different machines, or parts of one that share no network
  int most_ranks_on_one = 2;
  std::string names;        // of the hosts, by their first rank, each once: "node1, node2"
  bool rank0_clock = true;  // this rank's CLOCK_MONOTONIC is that of rank 0
  int ranks_without_it = 0;
  std::string address;  // by which the others reach this rank
};

// `version` is that of this program; ranks of another are refused.
Result<MetRanks> meet(const SweepStart& start, const std::string& version, const Environment& environment);
Result<RankHosts> ask_where(TcpStore& store, const FabricPlace& place);

// The session of a rank whose backend is connected. Facts of the start are given on.
struct SessionParts {
  MetRanks ranks;
  std::unique_ptr<FabricBackend> backend;
  RankHosts hosts;
  SweepStart start;
};
std::unique_ptr<SweepSession> make_sweep_session(SessionParts parts);

}  // namespace gradsync
