// What the injected library costs a job, in nanoseconds per range.
//
// usage: nvtx_overhead LIBRARY [FOLDER]
//
// Each line is measured in a process of its own, in runs that alternate with runs of what cannot be avoided: the two
// clock reads of a range. The difference is our share: record, name lookup, and all page faults and system calls of new
// chunks, since every run writes fresh ones. Times are CPU times of the thread (user and kernel), so that other work on
// the machine shows as spread of a few percent instead of whole time slices. FOLDER (default: the temporary folder)
// decides which file system is measured.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <string>
#include <vector>

#include "collectors/inject/abi/nccl_profiler_abi.h"

extern "C" {
#include "tests/inject/nvtx_client.h"
}

namespace {

constexpr int kRuns = 31;
constexpr int kRangesPerRun = 20000;
constexpr double kTargetNs = 20;  // a push and pop: at most twice its two clock reads, and this
constexpr double kCallNs = 100;  // a wrapped NCCL call, and the plug-in's part of it: all of ours, clock reads included

int64_t now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return int64_t{time.tv_sec} * 1000000000 + time.tv_nsec;
}

int64_t cpu_time() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return int64_t{time.tv_sec} * 1000000000 + time.tv_nsec;
}

template <typename Body>
double ns_per_call(Body body, int calls = kRangesPerRun) {
  const int64_t began = cpu_time();
  for (int i = 0; i < calls; ++i) body();
  return static_cast<double>(cpu_time() - began) / calls;
}

struct Spread {
  double median, low, high;  // low and high: quartiles
};

Spread spread_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return {values[n / 2], values[n / 4], values[n - 1 - n / 4]};
}

template <typename Body>
void measure(const char* what, Body body) {
  std::vector<double> total, clocks, ours;
  ns_per_call(body);  // not counted: names, first chunk
  for (int run = 0; run < kRuns; ++run) {
    volatile int64_t sink;
    clocks.push_back(ns_per_call([&] {
      sink = now();
      sink = now();
    }));
    total.push_back(ns_per_call(body));
    ours.push_back(total.back() - clocks.back());
  }
  const Spread t = spread_of(total), c = spread_of(clocks), o = spread_of(ours);
  std::printf("%-44s %6.1f [%6.1f %6.1f]  %5.1f [%5.1f %5.1f]  %+6.1f [%+6.1f %+6.1f]%s\n", what, t.median, t.low,
              t.high, c.median, c.low, c.high, o.median, o.low, o.high,
              t.median <= 2 * c.median + kTargetNs ? "" : "  over target");
}

// Against the same without us instead of clock reads.
template <typename Body, typename Without>
void measure_call(const char* what, Body body, Without without) {
  std::vector<double> total, bare, ours;
  constexpr int kCalls = 8000;  // up to nine records each: all runs must fit into one spool
  ns_per_call(body, kCalls);
  for (int run = 0; run < kRuns; ++run) {
    bare.push_back(ns_per_call(without, kCalls));
    total.push_back(ns_per_call(body, kCalls));
    ours.push_back(total.back() - bare.back());
  }
  const Spread t = spread_of(total), b = spread_of(bare), o = spread_of(ours);
  std::printf("%-44s %6.1f [%6.1f %6.1f]  %5.1f [%5.1f %5.1f]  %+6.1f [%+6.1f %+6.1f]%s\n", what, t.median, t.low,
              t.high, b.median, b.low, b.high, o.median, o.low, o.high, o.median <= kCallNs ? "" : "  over target");
}

template <typename Function>
Function* symbol(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

void push_pop() {
  measure("NVTX push + pop, default domain", [] {
    CALL(int, client_core[CORE_PUSH_A], (const char*), ("a range of the model"));
    CALL(int, client_core[CORE_POP], (void), ());
  });
}

void domain_push_pop() {
  void* domain = CALL(void*, client_domain[DOMAIN_CREATE_A], (const char*), ("library"));
  client_attributes attributes = {};
  attributes.version = 3;
  attributes.size = sizeof attributes;
  attributes.message_type = 3;
  attributes.message.registered =
      CALL(void*, client_domain[DOMAIN_STRING_A], (void*, const char*), (domain, "registered"));
  measure("NVTX push + pop, domain, registered string", [&] {
    CALL(int, client_domain[DOMAIN_PUSH_EX], (void*, const client_attributes*), (domain, &attributes));
    CALL(int, client_domain[DOMAIN_POP], (void*), (domain));
  });
}

void nccl_push_pop() {
  client_attach_payload(0x0103);
  void* domain = CALL(void*, client_domain[DOMAIN_CREATE_A], (const char*), ("NCCL"));
  const client_entry entries[] = {{0, 18, "NCCL communicator ID", nullptr, 0, 0, nullptr, nullptr},
                                  {0, 22, "Message size [bytes]", nullptr, 0, 8, nullptr, nullptr},
                                  {0, (1 << 24) + 11, "Reduction operation", nullptr, 0, 16, nullptr, nullptr}};
  const uint64_t id = (1 << 24) + 5;
  const client_schema schema = {1 << 2 | 1 << 4 | 1 << 5 | 1 << 8, nullptr, 1, 0, entries, 3, 0, 0, id};
  CALL(uint64_t, client_payload[0], (void*, const client_schema*), (domain, &schema));
  struct {
    uint64_t communicator;
    size_t bytes;
    int operation;
  } value = {0xc0ffee, 4096, 0};
  client_blob blob = {id, sizeof value, &value};
  client_attributes attributes = {};
  attributes.version = 3;
  attributes.size = sizeof attributes;
  attributes.message_type = 3;
  attributes.message.registered =
      CALL(void*, client_domain[DOMAIN_STRING_A], (void*, const char*), (domain, "ncclAllReduce"));
  attributes.payload_type = static_cast<int32_t>(0xDFBD0009);
  attributes.payload_count = 1;
  attributes.payload.u64 = reinterpret_cast<uint64_t>(&blob);
  measure("NCCL's all-reduce range (record + attribute)", [&] {
    CALL(int, client_domain[DOMAIN_PUSH_EX], (void*, const client_attributes*), (domain, &attributes));
    CALL(int, client_domain[DOMAIN_POP], (void*), (domain));
  });
}

void c_abi() {
  void* library = dlopen(std::getenv("NVTX_INJECTION64_PATH"), RTLD_LAZY);
  auto* begin = symbol<uint64_t(uint64_t, uint64_t, uint64_t)>(library, "gsd_begin");
  auto* end = symbol<void(uint64_t)>(library, "gsd_end");
  measure("gsd_begin + gsd_end", [&] { end(begin(5, 0, 0)); });
}

using AllReduce = int(const void*, void*, size_t, int, int, void*, void*);

// The wrapper finds the function by looking for a libnccl that is mapped; once.
void nccl_wrapper() {
  void* library = dlopen(std::getenv("NVTX_INJECTION64_PATH"), RTLD_LAZY);
  void* nccl = dlopen(GSD_BENCH_NCCL, RTLD_LAZY);
  auto* wrapped = symbol<AllReduce>(library, "ncclAllReduce");
  auto* real = symbol<AllReduce>(nccl, "ncclAllReduce");
  int comm = 0;
  measure_call(
      "wrapped ncclAllReduce", [&] { wrapped(&comm, &comm, 1024, 7, 0, &comm, nullptr); },
      [&] { real(&comm, &comm, 1024, 7, 0, &comm, nullptr); });
}

// As NCCL calls it for each collective: the event was written by the wrapper, the plug-in finds it and adds its words.
void nccl_plugin() {
  using namespace gradsync::nccl;
  void* library = dlopen(std::getenv("NVTX_INJECTION64_PATH"), RTLD_LAZY);
  dlopen(GSD_BENCH_NCCL, RTLD_LAZY);
  auto* wrapped = symbol<AllReduce>(library, "ncclAllReduce");
  const auto* plugin = static_cast<const ProfilerV5*>(dlsym(library, "ncclProfiler_v5"));
  void* context = nullptr;
  int mask = 0;
  plugin->init(&context, 0xabc, &mask, "", 1, 2, 0, nullptr);
  CollectiveV5 told = {};
  told.collective.head.type = EventType::collective;
  told.collective.function = "AllReduce";
  told.collective.count = 1024;
  told.collective.data_type = "ncclFloat32";
  told.collective.algorithm = "RING";
  told.collective.protocol = "LL128";
  told.collective.channels = 8;
  int comm = 0;
  const auto call = [&] { wrapped(&comm, &comm, 1024, 7, 0, &comm, nullptr); };
  measure_call(
      "plug-in's start + stop, beside a wrapped call",
      [&] {
        call();
        void* event = nullptr;
        plugin->start(context, &event, &told);
        plugin->stop(event);
      },
      call);
}

// In a process of its own: a recording has a bound, and one line must not warm up the next.
void in_child(const std::string& folder, void (*body)()) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    std::string recording = folder + "/gsd-overhead-XXXXXX";
    if (mkdtemp(recording.data()) == nullptr) _exit(1);
    setenv("GSD_RECORDING", recording.c_str(), 1);
    if (client_attach() != 0) {
      body();
      std::fflush(stdout);
    }
    std::filesystem::remove_all(recording);
    _exit(0);
  }
  waitpid(child, nullptr, 0);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s LIBRARY [FOLDER]\n", argv[0]);
    return 2;
  }
  const std::string folder = argc > 2 ? argv[2] : std::filesystem::temp_directory_path().string();
  setenv("NVTX_INJECTION64_PATH", argv[1], 1);
  std::printf(
      "ns per range, median [quartiles], n = %d runs of %d ranges; target: total <= 2 x two clock reads + %.0f\n",
      kRuns, kRangesPerRun, kTargetNs);
  std::printf("NCCL calls: without us instead of clock reads; target: ours <= %.0f\n", kCallNs);
  std::printf("%-44s %-22s  %-19s  %s\n", "", "total", "two clock reads", "ours");
  for (void (*body)() : {push_pop, domain_push_pop, nccl_push_pop, c_abi, nccl_wrapper, nccl_plugin})
    in_child(folder, body);
  return 0;
}
