#include "tests/fabric/fake_ranks.h"

#include <cstdlib>

namespace gradsync {

std::string fake_file(const std::string& name) { return std::string(GSD_FAKE_FOLDER) + "/" + name; }

void use_fakes(const Variables& more) {
  setenv("GSD_CUDART_LIBRARY", fake_file("libcudart.so.13").c_str(), 1);
  setenv("GSD_NCCL_LIBRARY", fake_file(kWholeNccl).c_str(), 1);
  for (const auto& [name, value] : more) setenv(name.c_str(), value.c_str(), 1);
}

std::string told(const Error& error) { return "error: " + error.message() + " | " + error.hint; }

std::vector<std::string> run_fake_ranks(const FakeRanks& setting, const ConnectedRank& program) {
  const auto ends = run_ranks(setting.ranks, [&](int rank, RankStore& store) -> std::string {
    use_fakes(setting.all);
    if (const auto own = setting.of_rank.find(rank); own != setting.of_rank.end()) use_fakes(own->second);
    auto backend = make_nccl_backend(setting.options);
    if (!backend) return told(backend.error());
    const FabricPlace place{rank, setting.ranks, setting.interface_name, setting.timeout_ms};
    if (const auto connected = (*backend)->connect(place, store); !connected) return told(connected.error());
    return program(**backend, rank, store);
  });
  std::vector<std::string> said;
  for (const RankEnd& end : ends)
    said.push_back(end.status == 0 ? end.said : "ended with " + std::to_string(end.status) + ": " + end.said);
  return said;
}

std::string measure_once(FabricBackend& backend, const FabricCall& call) {
  if (const auto prepared = backend.prepare(call); !prepared) return told(prepared.error());
  const auto timing = backend.run();
  if (!timing) return told(timing.error());
  const auto wrong = backend.count_wrong();
  if (!wrong) return told(wrong.error());
  return "wrong " + std::to_string(*wrong) + (timing->graph_us ? ", graph" : ", no graph");
}

}  // namespace gradsync
