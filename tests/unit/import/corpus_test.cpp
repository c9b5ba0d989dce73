// Every real trace of the corpus, against what MANIFEST.tsv counted in it with another program.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>

#include "collectors/import/decimal.h"
#include "collectors/import/find_rank.h"
#include "collectors/import/kineto.h"
#include "tests/unit/import/trace_files.h"

namespace gradsync {
namespace {

struct Expected {
  std::string file;
  std::uint64_t events = 0, kernels = 0, nccl_kernels = 0, spanning = 0, bytes = 0;
  std::optional<std::int64_t> rank, world_size;
};

// "…; rank=3; world=8; …" → the number behind "rank=".
std::optional<std::int64_t> number_behind(const std::string& line, const std::string& key) {
  for (std::size_t at = line.find(key + "="); at != std::string::npos; at = line.find(key + "=", at + 1)) {
    if (at > 0 && line[at - 1] != ' ' && line[at - 1] != '\t') continue;  // the end of another key
    const std::size_t first = at + key.size() + 1;
    return integer_from(std::string_view(line).substr(first, line.find_first_not_of("0123456789", first) - first));
  }
  return std::nullopt;
}

std::vector<Expected> manifest(const std::filesystem::path& corpus) {
  std::vector<Expected> files;
  std::ifstream in(corpus / "MANIFEST.tsv");
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("kineto/")) continue;
    const auto count = [&](const char* key) {
      return static_cast<std::uint64_t>(number_behind(line, key).value_or(0));
    };
    files.push_back({line.substr(0, line.find('\t')), count("events"), count("kernels"), count("nccl_kernels"),
                     count("gloo_events"), count("raw"), number_behind(line, "rank"), number_behind(line, "world")});
  }
  return files;
}

std::uint64_t not_imported(const ImportStats& stats) {
  return stats.flows + stats.metadata + stats.instants + stats.profiler_spans + stats.device_syncs +
         stats.other_phases + stats.malformed;
}

}  // namespace

TEST_CASE("real traces: every event is imported or accounted for") {
  const auto folder = test::corpus();
  if (!folder) {
    MESSAGE("skipped: GSD_CORPUS names no folder with kineto traces");
    return;
  }
  const std::vector<Expected> files = manifest(*folder);
  REQUIRE(files.size() > 50);
  for (const Expected& expected : files) {
    CAPTURE(expected.file);
    test::KeptEvents sink;
    ImportOptions options;
    options.process = ProcessInfo{};
    const Result<ImportStats> stats = import_kineto(*folder / expected.file, options, sink);
    REQUIRE(stats);
    CHECK(stats->elements == expected.events);
    CHECK(stats->lost == 0);
    CHECK_FALSE(stats->cut);
    CHECK(stats->malformed == 0);
    CHECK(stats->bytes == (expected.file.ends_with(".gz") ? expected.bytes : file_size(*folder / expected.file)));

    const std::vector<Event> collectives = sink.of(Kind::collective);
    const auto on_device =
        static_cast<std::uint64_t>(std::count_if(collectives.begin(), collectives.end(), [](const Event& e) {
          return static_cast<std::uint32_t>(e.lane) >= 0x80000000U;
        }));
    CHECK(on_device == expected.nccl_kernels);
    CHECK(stats->count(Kind::kernel) + on_device == expected.kernels);
    CHECK(stats->nccl_kernels == expected.nccl_kernels);
    CHECK(collectives.size() - on_device == expected.spanning);
    if (expected.rank) CHECK(stats->rank.rank == expected.rank);
    if (expected.world_size) CHECK(stats->world_size == *expected.world_size);
    if (!expected.file.starts_with("kineto/ibm")) CHECK(stats->events + not_imported(*stats) == stats->elements);
    const Result<FoundRank> rank = find_rank(*folder / expected.file);
    REQUIRE(rank);
    CHECK(rank->rank == stats->rank.rank);
    CHECK(rank->source == stats->rank.source);
  }
}

}  // namespace gradsync
