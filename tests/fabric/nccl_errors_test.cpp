// Everything that goes wrong with NCCL or a GPU ends with a sentence, on every rank, and never with a hang.
#include <doctest/doctest.h>
#include <signal.h>
#include <unistd.h>

#include "collectors/fabric/abi/cuda_abi.h"
#include "collectors/fabric/abi/nccl_abi.h"
#include "tests/fabric/fake_ranks.h"

using namespace gradsync;

namespace {

constexpr FabricCall kCall{FabricOperation::all_gather, ElementType::float32, 1000};

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::vector<std::string> measure(const FakeRanks& setting) {
  auto said =
      run_fake_ranks(setting, [](FabricBackend& backend, int, RankStore&) { return measure_once(backend, kCall); });
  for (const std::string& one : said) CHECK_FALSE(has(one, "things of the GPU behind"));
  return said;
}

// How many NCCL calls a rank makes until the all-gather that is measured: the ranks agree, then warm up with one.
constexpr const char* kFirstMeasured = "2";

}  // namespace

TEST_CASE("NCCL is missing, too old, or lacks a function") {
  const auto refused = [](const Variables& variables) { return measure({.ranks = 1, .all = variables})[0]; };
  const std::string missing = refused({{"GSD_NCCL_LIBRARY", "/nowhere/libnccl.so.2"}});
  CHECK(has(missing, "error: cannot use NCCL of GSD_NCCL_LIBRARY: /nowhere/libnccl.so.2: cannot open shared object"));
  CHECK(has(missing, "| pip install nvidia-nccl-cu12"));
  CHECK(has(refused({{"GSD_FAKE_NCCL_VERSION", "2604"}}), "NCCL 2.6.4 is too old: 2.7.0 or newer is needed"));
  CHECK(has(refused({{"GSD_NCCL_LIBRARY", fake_file("libnccl_without_receive.so.2")}}), "without ncclRecv"));
  CHECK(has(refused({{"GSD_NCCL_LIBRARY", fake_file("libcudart.so.13")}}), "has no ncclGetVersion: not NCCL"));
  const std::string other = refused({{"GSD_CUDART_LIBRARY", "libm.so.6"}});
  CHECK(has(other, "error: cannot use the CUDA runtime of GSD_CUDART_LIBRARY: "));
  CHECK(has(other, "libm.so.6: has no cudaDriverGetVersion, cudaRuntimeGetVersion, "));
}

TEST_CASE("a runtime newer than the driver is not taken") {
  const auto said = measure({.ranks = 1, .all = {{"GSD_FAKE_CUDA_DRIVER", "12020"}}});
  CHECK(has(said[0], "libcudart.so.13: is of CUDA 13.0, the driver serves up to 12.2"));
}

TEST_CASE("one rank is refused") {
  CHECK(has(measure({.ranks = 1})[0], "error: nothing to measure with one rank: NCCL copies inside one GPU then"));
}

TEST_CASE("no driver, no device, a busy device: on the rank itself and on the others") {
  for (const std::string& said : measure({.all = {{"GSD_FAKE_CUDA_DRIVER", "0"}}}))
    CHECK(has(said, "no GPU that NCCL could use: CUDA driver version is insufficient for CUDA runtime version"));
  const auto none = measure({.of_rank = {{1, {{"GSD_FAKE_CUDA_DEVICES", "0"}}}}});
  CHECK(has(none[0], "error: rank 1 cannot take part: no GPU that NCCL could use: no CUDA-capable device is detected"));
  CHECK(has(none[1], "error: no GPU that NCCL could use: no CUDA-capable device is detected (CUDA error 100)"));
  CHECK(has(none[1], "--backend gloo"));
  const auto busy = measure({.ranks = 3, .of_rank = {{0, {{"GSD_FAKE_CUDA_BUSY", "1"}}}}});
  CHECK(has(busy[0], "error: cannot use GPU 0: CUDA-capable device(s) is/are busy or unavailable (CUDA error 46)"));
  CHECK(has(busy[0], "| the GPU is busy or in exclusive mode: nvidia-smi"));
  for (const int other : {1, 2}) CHECK(has(busy[other], "error: rank 0 cannot take part: cannot use GPU 0"));
}

TEST_CASE("out of memory: the size, what is free, and the others do not wait") {
  const auto said = measure({.of_rank = {{1, {{"GSD_FAKE_CUDA_MEMORY", "3000"}}}}});
  CHECK(
      has(said[1], "error: no GPU memory for a buffer of 4256 bytes: out of memory (CUDA error 2), 992 of 3000 bytes"));
  CHECK(has(said[1], "or a smaller --max"));
  CHECK(has(said[0], "error: cannot prepare all_gather of 4000 bytes (float): another rank has no memory for it"));
}

TEST_CASE("ranks with different versions of NCCL, and a network interface that does not exist") {
  for (const std::string& said : measure({.of_rank = {{1, {{"GSD_FAKE_NCCL_VERSION", "22705"}}}}}))
    CHECK(has(said, "error: ranks have different versions of NCCL: rank 0 has 2.30.7, rank 1 has 2.27.5"));
  for (const std::string& said : measure({.interface_name = "nosuch0"}))
    CHECK(has(said, "error: no network interface nosuch0 | ip -br link"));
}

TEST_CASE("NCCL does not initialise: its own words, or the limit of time") {
  const auto failed = measure({.timeout_ms = 2000, .of_rank = {{1, {{"GSD_FAKE_NCCL_FAIL_INIT", "2"}}}}});
  CHECK(has(failed[1],
            "error: NCCL cannot connect 2 ranks: unhandled system error (NCCL error 2), planted failure of the"));
  CHECK(has(failed[1], "NCCL_DEBUG=WARN"));
  CHECK(has(failed[0], "error: NCCL cannot connect 2 ranks: not finished after 2000 ms"));
  const auto hung = measure({.timeout_ms = 2000, .all = {{"GSD_FAKE_NCCL_HANG_INIT", "1"}}});
  for (const std::string& said : hung) CHECK(has(said, "not finished after 2000 ms | NCCL_DEBUG=INFO"));
}

TEST_CASE("a call that fails: operation, size and NCCL's words; the others notice") {
  const Variables fails = {{"GSD_FAKE_NCCL_FAIL_CALL", std::string(kFirstMeasured) + ":3"}};
  const auto said = measure({.ranks = 3, .of_rank = {{1, fails}}});
  CHECK(
      said[1].find("error: all_gather of 4000 bytes (float) failed: internal error (NCCL error 3), planted failure of "
                   "call 2") == 0);
  for (const int other : {0, 2})
    CHECK(has(said[other],
              "error: all_gather of 4000 bytes (float) failed: remote process exited or there was a network"));
}

TEST_CASE("a failure that comes later, while the GPU works, is seen on all ranks") {
  for (const char* operation : {"2", "3", "14"}) {  // warm-up, agreement about the capture, the checked call
    const Variables fails = {{"GSD_FAKE_NCCL_FAIL_LATER", std::string(operation) + ":1"}};
    const auto said = measure({.of_rank = {{0, fails}}});
    CAPTURE(operation);
    CHECK(has(said[0], "failed: unhandled cuda error (NCCL error 1), planted failure of operation "));
    CHECK(has(said[0], "nvidia-smi"));
    CHECK(has(said[1], "failed: remote process exited or there was a network error (NCCL error 6)"));
  }
}

TEST_CASE("a rank that falls silent: the limit of time, on all ranks, and none hangs") {
  const Variables silent = {{"GSD_FAKE_NCCL_SILENT", kFirstMeasured}};
  const auto said = measure({.ranks = 3, .timeout_ms = 2000, .of_rank = {{2, silent}}});
  for (const std::string& one : said) {
    const bool noticed = has(one, "error: no result of all_gather of 4000 bytes (float): not finished after 2000 ms") ||
                         has(one, "remote process exited");  // the first to give up leaves the others alone
    CHECK(noticed);
  }
}

TEST_CASE("NCCL blocks in a call, as it does when ranks connect late: the limit of time, and an abort frees it") {
  const Variables hangs = {{"GSD_FAKE_NCCL_HANG_CALL", kFirstMeasured}};
  const auto said = measure({.timeout_ms = 2000, .of_rank = {{1, hangs}}});
  CHECK(has(said[1], "error: no result of all_gather of 4000 bytes (float): NCCL did not launch it within 2000 ms"));
  const bool noticed = has(said[0], "not finished after 2000 ms") || has(said[0], "remote process exited");
  CHECK(noticed);
}

TEST_CASE("a rank that dies in the middle") {
  const auto ends = run_ranks(2, [](int rank, RankStore& store) -> std::string {
    use_fakes({});
    auto backend = make_nccl_backend();
    if (!backend) return told(backend.error());
    if (const auto connected = (*backend)->connect({rank, 2, "", 20'000}, store); !connected)
      return told(connected.error());
    if (rank == 1) _exit(7);
    return measure_once(**backend, kCall);
  });
  CHECK(ends[1].status == 7);
  CHECK(ends[0].status == 0);
  CHECK(has(ends[0].said, "(NCCL error 6)"));
}

TEST_CASE("ranks part, and one that does not come keeps nobody") {
  const auto said = run_fake_ranks({.timeout_ms = 2000}, [](FabricBackend& backend, int rank, RankStore& store) {
    std::string measured = measure_once(backend, kCall);
    const auto pids = store.exchange("pid", std::to_string(getpid()), 20'000);
    // rank 1 stays until rank 0 is gone, and its parent knows
    while (rank == 1 && kill(std::stoi((*pids)[0]), 0) == 0) usleep(1000);
    return measured;
  });
  CHECK(said == std::vector<std::string>{"wrong 0, graph", "wrong 0, graph"});
}
