// Events per second from a spool on disk: into a sink that only counts, and into the timeline. One core.
// Target: at least 10 million a second into the counting sink.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "src/base/seconds_of.h"
#include "src/base/statistics.h"
#include "src/spool_reader/spool_file.h"
#include "src/spool_writer/gsd.h"
#include "src/spool_writer/process_state.h"
#include "src/timeline/builder.h"
#include "tests/support/folder.h"
#include "tests/support/sinks.h"

using namespace gradsync;
namespace fs = std::filesystem;

namespace {

constexpr int kEvents = 2'000'000;
constexpr int kRuns = 15;

struct CountingSink final : test::IgnoringSink {
  std::uint64_t events = 0;
  std::int64_t busy = 0;
  void event(const Event& event) override {
    ++events;
    busy += event.duration();
  }
};

void write_recording(const fs::path& folder) {
  fs::create_directory(folder / "events");
  const pid_t child = ::fork();
  if (child == 0) {
    ::setenv("GSD_RECORDING", folder.c_str(), 1);
    spool::configure(spool::ForkGuard::kernel_or_handler);
    std::uint32_t names[32];
    for (int i = 0; i < 32; ++i) names[i] = gsd_string(("operation " + std::to_string(i)).c_str(), -1);
    for (int i = 0; i < kEvents; ++i)
      gsd_event(GSD_WHAT(Kind::range, Phase::none, Source::nvtx, 0, names[i % 32]), 0, 0, i * 1000, i * 1000 + 700);
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
}

template <class Read>
void measure(const char* name, Read read) {
  std::vector<double> rates;
  for (int run = 0; run < kRuns; ++run) {
    std::uint64_t events = 0;
    const double seconds = seconds_of([&] { events = read(); });
    rates.push_back(static_cast<double>(events) / seconds * 1e-6);
  }
  const Spread found = *spread(rates);
  std::printf("%-24s %6.1f M events/s  (p10 %.1f, p90 %.1f, n %lld)\n", name, found.p50, found.p10, found.p90,
              static_cast<long long>(found.n));
}

}  // namespace

int main() {
  const test::Folder own;
  const fs::path& folder = own.path();
  write_recording(folder);
  const fs::path spool = fs::directory_iterator(folder / "events")->path();
  std::printf("%d events, %.0f MB, page cache warm\n", kEvents, static_cast<double>(fs::file_size(spool)) * 1e-6);
  measure("into a counting sink", [&] {
    CountingSink sink;
    return read_spool(spool, sink)->events;
  });
  measure("into a timeline", [&] {
    TimelineBuilder builder;
    return read_spool(spool, builder)->events;
  });
  return 0;
}
