// Ranks on one machine sweep over whatever NCCL is found: the fake one in `ctest`, the real one in tests/gpu/sweep.sh.
// usage: nccl_ranks RANKS REPEATS BYTES…   Prints a table and the facts; exits 1 when a rank failed or a result is wrong.
#include <cstdio>
#include <cstdlib>

#include "collectors/fabric/nccl_backend.h"
#include "tests/fabric/rank_processes.h"
#include "tests/fabric/rank_sweep.h"

using namespace gradsync;

namespace {

std::string failed(const Error& error) {
  return "failed: " + error.message() + (error.hint.empty() ? "" : "\nhint: " + error.hint) + "\n";
}

std::string table_line(const RankRow& row, int ranks, std::int64_t wrong) {
  char text[160];
  const double us = median_device_us(row);
  std::snprintf(text, sizeof(text), "%-15s %-6s %12s %12.2f %12.2f %10.3f %8s\n", to_string(row.call.operation),
                to_string(row.call.type), std::to_string(row.call.elements * size_of(row.call.type)).c_str(), us,
                median_graph_us(row), bus_gbytes_per_s(row.call, ranks, us), std::to_string(wrong).c_str());
  return text;
}

std::string be_rank(const RankSweep& sweep, int rank, RankStore& store) {
  auto backend = make_nccl_backend();
  if (!backend) return failed(backend.error());
  if (auto connected = (*backend)->connect({rank, sweep.ranks, "", 60'000}, store); !connected)
    return failed(connected.error());
  const auto rows = sweep_rank(**backend, sweep);
  if (!rows) return failed(rows.error());
  std::string said;
  for (std::size_t i = 0; i < rows->size(); ++i) {
    const auto wrongs = store.exchange("row." + std::to_string(i), std::to_string((*rows)[i].wrong), 60'000);
    if (!wrongs) return failed(wrongs.error());
    std::int64_t wrong = 0;
    for (const std::string& word : *wrongs) wrong += std::strtoll(word.c_str(), nullptr, 10);
    said += table_line((*rows)[i], sweep.ranks, wrong);
    if (wrong > 0) said += "failed: wrong results\n";
  }
  for (const auto& [name, value] : (*backend)->facts()) said += name + ": " + value + "\n";
  return said;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fputs("usage: nccl_ranks RANKS REPEATS BYTES...\n", stderr);
    return 2;
  }
  RankSweep sweep;
  sweep.ranks = std::atoi(argv[1]);
  sweep.repeats = std::atoi(argv[2]);
  for (int i = 3; i < argc; ++i) sweep.bytes.push_back(std::strtoll(argv[i], nullptr, 10));
  const auto program = [&](int rank, RankStore& store) { return be_rank(sweep, rank, store); };
  const auto ends = run_ranks(sweep.ranks, program, std::chrono::seconds(570));
  std::printf("%-15s %-6s %12s %12s %12s %10s %8s\n%s", "operation", "type", "bytes", "launched us", "graph us",
              "busbw GB/s", "#wrong", ends[0].said.c_str());
  int status = 0;
  for (std::size_t rank = 0; rank < ends.size(); ++rank) {
    const bool is_bad = ends[rank].status != 0 || ends[rank].said.find("failed: ") != std::string::npos;
    if (is_bad) std::fprintf(stderr, "rank %zu ended with %d: %s\n", rank, ends[rank].status, ends[rank].said.c_str());
    if (is_bad) status = 1;
  }
  return status;
}
