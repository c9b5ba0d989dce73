// What the sampler of user copies costs: a fixed piece of work with and without it, in turn, and how long it takes to open.
// Prints the difference in ns for each sample, and the CPU time of its reader. As root.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <vector>

#include "collectors/host/copy_sampler.h"
#include "collectors/host/ticker.h"
#include "src/base/statistics.h"

using namespace gradsync;

namespace {

constexpr int kPairs = 8, kPieces = 8;

// CPU time, and the least of some pieces: others use this machine as well.
double work_ms() {
  double least = 1e9;
  for (int piece = 0; piece < kPieces; ++piece) {
    const Nanoseconds begin = thread_cpu_now();
    volatile std::uint64_t sum = 0;
    for (int i = 0; i < 300'000'000; ++i) sum = sum + static_cast<std::uint64_t>(i);
    least = std::min(least, static_cast<double>(thread_cpu_now() - begin) * 1e-6);
  }
  return least;
}

}  // namespace

int main() {
  std::vector<double> plain, sampled, opens, reader;
  std::string source;
  for (int i = 0; i < kPairs; ++i) {
    plain.push_back(work_ms());
    const Nanoseconds begin = monotonic_now();
    Result<std::unique_ptr<CopySampler>> sampler = CopySampler::open({});
    if (!sampler) {
      std::printf("%s\n", sampler.error().message().c_str());
      return 0;
    }
    opens.push_back(static_cast<double>(monotonic_now() - begin) * 1e-6);
    if (!(*sampler)->start()) return 1;
    sampled.push_back(work_ms());
    (*sampler)->stop();
    reader.push_back(static_cast<double>((*sampler)->reader_cpu()) * 1e-6);
    source = (*sampler)->source();
  }
  const double without = *std::min_element(plain.begin(), plain.end());
  const double with = *std::min_element(sampled.begin(), sampled.end()), added = with - without;
  const double samples = with * 1e-3 * CopySampler::kHertz;
  std::printf(
      "%s: %.2f ms without, %.2f ms with (%+.2f %%), %.0f ns a sample; opened in %.1f ms; reader %.0f ms of CPU, "
      "symbols included\n",
      source.c_str(), without, with, 100 * added / without, 1e6 * added / samples, *median(opens), *median(reader));
  return 0;
}
