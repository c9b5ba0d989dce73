// What the fakes refuse. They stand for NCCL's and CUDA's contracts: a backend that breaks one must not pass.
#include <doctest/doctest.h>

#include "collectors/fabric/nccl_connect.h"
#include "tests/fabric/fake_ranks.h"

using namespace gradsync;

namespace {

struct RawRank {
  NcclLibraries& libraries;
  NcclConnection& connection;
  int rank;
  RankStore& store;
  float* memory;  // 64 elements on the GPU: 1, 2, 3, … and as many more for what is received
  float* received;

  const nccl::Functions& nccl() const { return libraries.nccl.call; }
  const cuda::Functions& cuda() const { return libraries.cuda.call; }
  nccl::Comm comm() const { return connection.comm; }
  cuda::Stream stream() const { return connection.device->stream(); }
  nccl::Status sum(std::size_t count) const {
    return nccl().all_reduce(memory, received, count, nccl::kFloat32, nccl::kSum, comm(), stream());
  }
  // Waits; then NCCL's asynchronous state and its sentence.
  std::string end() const {
    const auto waited = connection.device->wait({"the test", 20'000, {}});
    nccl::Status status = nccl::kSuccess;
    nccl().comm_get_async_error(comm(), &status);
    return (waited ? "" : "stuck ") + std::to_string(status) + " " + nccl().get_last_error(comm());
  }
  float result(int index) const {
    float values[64] = {};
    const auto copied = connection.device->copy_out(values, received, sizeof(values), {"the test", 20'000, {}});
    return copied ? values[index] : -1;
  }
};

std::vector<std::string> run_raw(int ranks, const std::function<std::string(const RawRank&)>& program) {
  std::vector<std::string> said;
  for (const RankEnd& end : run_ranks(ranks, [&](int rank, RankStore&store) -> std::string {
         use_fakes({});
         auto cuda = load_cuda();
         auto nccl = load_nccl();
         if (!cuda || !nccl) return "no fakes";
         NcclLibraries libraries{*cuda, *nccl};
         auto connected = connect_nccl(libraries, {rank, ranks, "", 20'000}, store);
         if (!connected) return told(connected.error());
         DeviceBuffer memory(libraries.cuda), received(libraries.cuda);
         float values[64];
         for (int i = 0; i < 64; ++i) values[i] = static_cast<float>(i + 1);
         if (!memory.reserve(sizeof(values)) || !received.reserve(sizeof(values)) ||
             !connected->device->copy_in(memory.data(), values, sizeof(values), {"the test", 20'000, {}}))
           return "no memory";
         auto text = program({libraries, *connected, rank, store, static_cast<float*>(memory.data()),
                              static_cast<float*>(received.data())});
         libraries.nccl.call.comm_abort(connected->comm);
         return text;
       }))
    said.push_back(end.status == 0 ? end.said : "ended with " + std::to_string(end.status));
  return said;
}

void check_all(const std::vector<std::string>& said, const std::string& expected) {
  for (const std::string& one : said) CHECK(one == expected);
}

}  // namespace

TEST_CASE("fake NCCL: collectives must be the same on all ranks") {
  check_all(run_raw(2,
                    [](const RawRank& at) {
                      at.sum(8 + static_cast<std::size_t>(at.rank));
                      return at.end();
                    }),
            "5 rank 0 calls AllReduce (count 8, type 7, reduction 0, root 0), rank 1 calls AllReduce (count 9, type 7, "
            "reduction 0, root 0)");
  check_all(run_raw(3,
                    [](const RawRank& at) {
                      at.nccl().broadcast(at.memory, at.received, 4, nccl::kFloat32, at.rank == 2 ? 1 : 0, at.comm(),
                                          at.stream());
                      return at.end().substr(0, 30);
                    }),
            "5 rank 0 calls Broadcast (coun");
  check_all(run_raw(2,
                    [](const RawRank& at) {
                      if (at.rank == 0)
                        at.sum(8);
                      else
                        at.nccl().all_gather(at.memory, at.received, 8, nccl::kFloat32, at.comm(), at.stream());
                      return at.end().substr(0, 23);
                    }),
            "5 rank 0 calls AllReduc");
}

TEST_CASE("fake NCCL: sends and receives need a group when they depend on each other, and equal counts") {
  const auto exchange = [](const RawRank& at, std::size_t sent, std::size_t received) {
    at.nccl().send(at.memory, sent, nccl::kFloat32, 1 - at.rank, at.comm(), at.stream());
    at.nccl().receive(at.received, received, nccl::kFloat32, 1 - at.rank, at.comm(), at.stream());
  };
  check_all(run_raw(2,
                    [&](const RawRank& at) {
                      exchange(at, 8, 8);
                      return at.end();
                    }),
            "5 sends and receives wait for each other: they must be fused between ncclGroupStart and ncclGroupEnd");
  check_all(run_raw(2,
                    [&](const RawRank& at) {
                      at.nccl().group_start();
                      exchange(at, 8, 8);
                      at.nccl().group_end();
                      return at.end() + std::to_string(static_cast<int>(at.result(7)));
                    }),
            "0 8");
  check_all(run_raw(2,
                    [&](const RawRank& at) {
                      at.nccl().group_start();
                      exchange(at, 8, 7);
                      at.nccl().group_end();
                      return at.end();
                    }),
            "5 send of rank 1 (count 8, type 7) does not fit receive of rank 0 (count 7, type 7)");
}

TEST_CASE("fake NCCL: a send and a receive that do not depend on each other need no group, and keep their order") {
  const auto said = run_raw(2, [](const RawRank& at) {
    for (int i = 0; i < 2; ++i) {
      if (at.rank == 0) at.nccl().send(at.memory + 10 * i, 4, nccl::kFloat32, 1, at.comm(), at.stream());
      if (at.rank == 1) at.nccl().receive(at.received + 4 * i, 4, nccl::kFloat32, 0, at.comm(), at.stream());
    }
    return at.end() + std::to_string(static_cast<int>(at.result(3))) + " " +
           std::to_string(static_cast<int>(at.result(4)));
  });
  CHECK(said[1] == "0 4 11");
}

TEST_CASE("fake NCCL: memory of the host, short buffers, unknown ranks and lone group ends are refused at the call") {
  check_all(run_raw(2,
                    [](const RawRank& at) {
                      float host[8] = {};
                      std::string text;
                      text += std::to_string(at.nccl().all_reduce(host, at.received, 8, nccl::kFloat32, nccl::kSum,
                                                                  at.comm(), at.stream()));
                      text += std::to_string(at.sum(65));
                      text += std::to_string(
                          at.nccl().all_gather(at.memory, at.received, 33, nccl::kFloat32, at.comm(), at.stream()));
                      text += std::to_string(
                          at.nccl().broadcast(at.memory, at.received, 8, nccl::kFloat32, 2, at.comm(), at.stream()));
                      text += std::to_string(at.nccl().group_end());
                      text += std::to_string(at.cuda().memset_async(host, 0, 4, at.stream()));
                      text +=
                          std::to_string(at.cuda().memcpy_async(host, at.memory, 4, cuda::kHostToDevice, at.stream()));
                      return text;
                    }),
            "4444511");
}

TEST_CASE("fake CUDA: a call returns before its work is done") {
  const auto said = run_raw(2, [](const RawRank& at) -> std::string {
    if (at.rank == 1 && !at.store.get("looked", 20'000)) return "rank 0 is gone";
    at.sum(64);
    const cuda::Status before = at.cuda().stream_query(at.stream());  // rank 1 has not called yet
    if (at.rank == 0 && !at.store.set("looked", "yes")) return "no store";
    return (at.rank == 0 ? std::to_string(before) + " " : "") + at.end() +
           std::to_string(static_cast<int>(at.result(63)));
  });
  CHECK(said[0] == "600 0 128");
  CHECK(said[1] == "0 128");
}

TEST_CASE("fake CUDA: what is captured happens at each launch and not before; a disturbed capture is lost") {
  check_all(run_raw(2,
                    [](const RawRank& at) {
                      const auto in_place = [&] {
                        return at.nccl().all_reduce(at.memory, at.memory, 64, nccl::kFloat32, nccl::kSum, at.comm(),
                                                    at.stream());
                      };
                      const auto first = [&] {
                        at.cuda().memset_async(at.received, 0, 4, at.stream());
                        float value = 0;
                        const auto out = at.connection.device->copy_out(&value, at.memory, 4, {"the test", 20'000, {}});
                        return out ? std::to_string(static_cast<int>(value)) : "stuck";
                      };
                      cuda::Graph graph = nullptr;
                      cuda::GraphExec exec = nullptr;
                      at.cuda().stream_begin_capture(at.stream(), cuda::kCaptureThreadLocal);
                      in_place();
                      at.cuda().stream_end_capture(at.stream(), &graph);
                      std::string text = first();
                      at.cuda().graph_instantiate_with_flags(&exec, graph, 0);
                      at.cuda().graph_destroy(graph);
                      for (int i = 0; i < 3; ++i) at.cuda().graph_launch(exec, at.stream());
                      text += " " + first();
                      at.cuda().graph_exec_destroy(exec);
                      at.cuda().stream_begin_capture(at.stream(), cuda::kCaptureThreadLocal);
                      void* memory = nullptr;
                      text += " " + std::to_string(at.cuda().malloc(&memory, 4));
                      return text + " " + std::to_string(at.cuda().stream_end_capture(at.stream(), &graph));
                    }),
            "1 8 900 901");
}

TEST_CASE("fake CUDA: a write past the end of device memory ends the process") {
  const auto ends = run_ranks(1, [](int, RankStore&) -> std::string {
    use_fakes({});
    const auto cuda = load_cuda();
    if (!cuda) return "no fakes";
    DeviceBuffer memory(*cuda);
    if (!memory.reserve(16)) return "no memory";
    static_cast<char*>(memory.data())[16] = 1;
    return "noticed too late";
  });
  CHECK(ends[0].status == 128 + 6);
}
