// Every real export of the corpus, against what MANIFEST.tsv counted in it with another program.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>

#include "collectors/import/decimal.h"
#include "collectors/import/recognise.h"
#include "tests/unit/import/nsys_files.h"

namespace gradsync {
namespace {

std::size_t number_behind(const std::string& line, const std::string& key) {
  const std::size_t at = line.find(key);
  if (at == std::string::npos) return 0;
  const std::size_t first = at + key.size();
  const std::string digits = line.substr(first, line.find_first_not_of("0123456789", first) - first);
  return static_cast<std::size_t>(integer_from(digits).value_or(0));
}

}  // namespace

TEST_CASE("real exports: every row is imported or accounted for") {
  const auto folder = test::corpus();
  if (!folder) {
    MESSAGE("skipped: GSD_CORPUS names no folder with Nsight Systems exports");
    return;
  }
  std::ifstream manifest(*folder / "MANIFEST.tsv");
  int files = 0;
  for (std::string line; std::getline(manifest, line);) {
    if (!line.starts_with("nsys/")) continue;
    const std::string name = line.substr(0, line.find('\t'));
    CAPTURE(name);
    ++files;
    const Result<Recognised> found = recognise(*folder / name);
    REQUIRE(found);
    REQUIRE(found->kind == FileKind::importable);
    CHECK(found->format->name == "Nsight Systems export");
    const auto got = test::import_export(*folder / name);
    REQUIRE(got.result);
    CHECK(got.sink.ranks.size() == number_behind(line, "\tdevices=") + number_behind(line, "; devices="));
    std::size_t kernels = 0, nccl = 0, calls = 0, copies = 0, ranges = 0;
    for (const test::KeptEvents& rank : got.sink.ranks) {
      CHECK(rank.facts.at("device") == "cuda");
      nccl += rank.of(Kind::collective).size();
      kernels += rank.of(Kind::kernel).size();
      calls += rank.of(Kind::host_call).size() + rank.of(Kind::host_sync).size();
      copies += rank.of(Kind::copy).size();
      ranges += rank.of(Kind::range).size();
    }
    CHECK(kernels + nccl == number_behind(line, "kernels="));
    CHECK(nccl == number_behind(line, "nccl_kernels="));
    CHECK(calls + static_cast<std::size_t>(got.result->coverage.lost) ==
          number_behind(line, "CUPTI_ACTIVITY_KIND_RUNTIME="));
    CHECK(copies == number_behind(line, "CUPTI_ACTIVITY_KIND_MEMCPY="));
    CHECK(ranges == number_behind(line, "NVTX_EVENTS="));
  }
  CHECK(files == 8);
}

}  // namespace gradsync
