#include "tests/fabric/fake_ranks.h"

#include <dlfcn.h>

#include <cstdlib>

namespace gradsync {

std::string fake_file(const std::string& name) { return std::string(GSD_FAKE_FOLDER) + "/" + name; }

void use_fakes(const Variables& more) {
  setenv("GSD_CUDART_LIBRARY", fake_file("libcudart.so.13").c_str(), 1);
  setenv("GSD_NCCL_LIBRARY", fake_file(kWholeNccl).c_str(), 1);
  for (const auto& [name, value] : more) setenv(name.c_str(), value.c_str(), 1);
}

namespace {

// Memory, streams, events and graphs of the GPU that nobody gave back.
std::string left_behind() {
  void* library = dlopen(fake_file("libcudart.so.13").c_str(), RTLD_NOW | RTLD_NOLOAD);
  const auto count = library ? reinterpret_cast<int (*)()>(dlsym(library, "gsd_fake_cuda_handed_out")) : nullptr;
  if (!count) return " (the fake CUDA is not loaded)";
  return count() == 0 ? "" : " (left " + std::to_string(count()) + " things of the GPU behind)";
}

}  // namespace

std::string told(const Error& error) { return "error: " + error.message() + " | " + error.hint; }

std::vector<std::string> run_fake_ranks(const FakeRanks& setting, const ConnectedRank& program) {
  const auto ends = run_ranks(setting.ranks, [&](int rank, RankStore& store) -> std::string {
    use_fakes(setting.all);
    if (const auto own = setting.of_rank.find(rank); own != setting.of_rank.end()) use_fakes(own->second);
    auto backend = make_nccl_backend();
    if (!backend) return told(backend.error());
    const FabricPlace place{rank, setting.ranks, setting.interface_name, setting.timeout_ms};
    if (const auto connected = (*backend)->connect(place, store); !connected) return told(connected.error());
    const std::string text = program(**backend, rank, store);
    backend->reset();
    return text + left_behind();
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
