// The vendor's own libraries, where there are any: all that is needed resolves, and a machine without a GPU is told so.
#include <doctest/doctest.h>

#include <cstdlib>

#include "collectors/fabric/nccl_backend.h"
#include "collectors/fabric/nccl_connect.h"
#include "tests/fabric/fake_ranks.h"

using namespace gradsync;

TEST_CASE("the real NCCL and CUDA runtime: symbols resolve; without a device the error says so") {
  const auto ends = run_ranks(1, [](int, RankStore& store) -> std::string {
    unsetenv("GSD_NCCL_LIBRARY");
    unsetenv("GSD_CUDART_LIBRARY");
    const auto cuda = load_cuda();
    if (!cuda) return "skipped: " + cuda.error().message();
    const auto nccl = load_nccl();
    if (!nccl) return "skipped: " + nccl.error().message();
    if (nccl->version < kOldestNccl || cuda->runtime_version < 11000 || !nccl->call.receive) return "bad versions";
    if (count_devices(*cuda)) return "skipped: there is a GPU here, tests/gpu/sweep.sh measures it";
    auto backend = make_nccl_backend();
    if (!backend) return told(backend.error());
    const auto connected = (*backend)->connect({0, 2, "", 100}, store);
    return connected ? "connected without a GPU" : told(connected.error()) + (nccl_has_devices() ? " has devices" : "");
  });
  if (ends[0].said.find("skipped: ") == 0) {
    MESSAGE(ends[0].said);
    return;
  }
  CHECK(ends[0].status == 0);
  CHECK(ends[0].said.find("error: no GPU that NCCL could use: ") == 0);
  CHECK(ends[0].said.find("nvidia-smi shows driver and devices") != std::string::npos);
  CHECK(ends[0].said.find("has devices") == std::string::npos);
  MESSAGE(ends[0].said);
}
