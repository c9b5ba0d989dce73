// Timelines of two ranks as a trace (show --perfetto): events per second, plain and compressed, and how much memory it
// takes besides the timelines. One core.
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "src/base/seconds_of.h"
#include "src/base/statistics.h"
#include "src/export/deflate.h"
#include "src/export/perfetto.h"
#include "src/timeline/builder.h"
#include "src/timeline/join_ranks.h"

using namespace gradsync;

namespace {

constexpr int kEvents = 500'000;  // of each rank; every tenth is a collective that both have
constexpr int kRuns = 7;

std::vector<RankTimeline> two_ranks() {
  TimelineBuilder builder;
  for (int rank = 0; rank < 2; ++rank) {
    ProcessInfo process;
    process.host = "node0";
    process.pid = 100 + rank;
    builder.begin_process(process);
    builder.fact("rank", std::to_string(rank));
    const NameId all_reduce = builder.intern("all_reduce"), operation = builder.intern("aten::addmm"),
                 site = builder.intern("site"), where = builder.intern("train.py:87 in topk_hook");
    for (int i = 0; i < kEvents; ++i) {
      Event event;
      event.kind = i % 10 == 0 ? Kind::collective : Kind::range;
      event.source = Source::torch_hook;
      event.name = i % 10 == 0 ? all_reduce : operation;
      event.start = 1'000'000'000 + i * 10'000LL + rank * 700;
      event.end = event.start + 9'000;
      event.bytes = 4096;
      event.sequence = static_cast<std::uint32_t>(i);
      event.reference = static_cast<std::uint64_t>(i) + 1;
      builder.event(event);
      if (i % 10 == 0) builder.attribute(event.reference, site, where);
    }
  }
  return builder.build();
}

// Resident memory that is no file's, in MB.
double resident_mb() {
  std::ifstream status("/proc/self/statm");
  long size = 0, resident = 0, shared = 0;
  status >> size >> resident >> shared;
  return static_cast<double>(resident - shared) * static_cast<double>(::sysconf(_SC_PAGESIZE)) * 1e-6;
}

template <class Write>
void measure(const char* name, Write write) {
  std::vector<double> rates;
  double bytes = 0;
  for (int run = 0; run < kRuns; ++run)
    rates.push_back(2.0 * kEvents / seconds_of([&] { bytes = static_cast<double>(write()); }) * 1e-6);
  const Spread found = *spread(rates);
  std::printf("%-12s %6.2f M events/s  (p10 %.2f, p90 %.2f, n %lld), %.0f MB\n", name, found.p50, found.p10, found.p90,
              static_cast<long long>(found.n), bytes * 1e-6);
}

}  // namespace

int main() {
  std::vector<RankTimeline> ranks = two_ranks();
  const JoinedRanks joined = join_ranks(ranks);
  const TraceSource source{ranks, joined.clocks, {}};
  const double before = resident_mb();
  double most = before;
  std::uint64_t pieces = 0;
  const TraceTally tally = write_trace(source, [&](std::string_view) {
    if (++pieces % 100 == 0) most = std::max(most, resident_mb());
  });
  std::printf("%lld events, %lld arrows; %.0f MB of memory besides the timelines' %.0f MB\n",
              static_cast<long long>(tally.events), static_cast<long long>(tally.arrows), most - before, before);
  measure("plain", [&] {
    std::uint64_t bytes = 0;
    write_trace(source, [&](std::string_view text) { bytes += text.size(); });
    return bytes;
  });
  measure("compressed", [&] {
    std::uint64_t bytes = 0;
    Deflater gzip([&](std::string_view text) { bytes += text.size(); });
    write_trace(source, [&](std::string_view text) { gzip.write(text); });
    gzip.finish();
    return bytes;
  });
  return 0;
}
