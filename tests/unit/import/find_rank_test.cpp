#include "collectors/import/find_rank.h"

#include <doctest/doctest.h>

#include "tests/unit/import/trace_files.h"

namespace gradsync {

TEST_CASE("a rank in a file's name") {
  struct Case {
    const char* name;
    int rank;  // -1 = none
    RankSource source;
  };
  const Case cases[] = {
      {"rank0.pt.trace.json", 0, RankSource::file_name},
      {"rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz", 34, RankSource::file_name},
      {"trace_rank_70.json", 70, RankSource::file_name},
      {"Rank=3.json", 3, RankSource::file_name},
      {"profile_trace_rank_0.json.gz", 0, RankSource::file_name},
      {"rank_trace_rank12.json", 12, RankSource::file_name},
      {"trace.0.json", 0, RankSource::file_number},
      {"trace.17.pt.trace.json", 17, RankSource::file_number},
      {"host_24050.1698955364359376813.pt.trace.json", -1, RankSource::none},  // a time stamp
      {"frank3.json", -1, RankSource::none},
      {"rank.json", -1, RankSource::none},
      {"rank99999999999.json", -1, RankSource::none},
      {"trace.json", -1, RankSource::none},
      {"7.json", -1, RankSource::none},
      {"", -1, RankSource::none},
  };
  for (const Case& c : cases) {
    CAPTURE(c.name);
    const FoundRank found = rank_from_name(std::filesystem::path("/rank9/x") / c.name);
    CHECK(found.rank.value_or(-1) == c.rank);
    CHECK(found.source == c.source);
  }
}

TEST_CASE("what the trace says itself comes before its name, wherever it stands") {
  const std::string info = R"("distributedInfo": {"backend": "nccl", "rank": 5, "world_size": 8})";
  const std::string event = R"({"ph": "X", "name": "a", "ts": 1, "dur": 1, "pid": 1, "tid": 1})";
  const std::string long_events = event + std::string(2 << 20, ' ');
  const std::string before = "{" + info + R"(, "traceEvents": []})";
  const std::string behind = test::object_trace(long_events, ", " + info);
  for (const std::string& text : {before, behind, test::gzip(behind)}) {
    const test::TraceFile file(text, "rank1.json");
    const Result<FoundRank> found = find_rank(file.path());
    REQUIRE(found);
    CHECK(found->rank == 5);
    CHECK(found->source == RankSource::distributed_info);
  }
}

TEST_CASE("without it the name counts, and a quotation of it does not") {
  const std::string quoted =
      R"({"ph": "X", "name": "\"distributedInfo\": {\"rank\": 5}", "ts": 1, "pid": 1, "tid": 1})";
  const test::TraceFile file(test::object_trace(quoted), "rank1.json");
  const Result<FoundRank> found = find_rank(file.path());
  REQUIRE(found);
  CHECK(found->rank == 1);
  CHECK(found->source == RankSource::file_name);
}

TEST_CASE("what is not a trace has no rank") {
  const test::TraceFile file("hello", "rank1.json");
  CHECK_FALSE(find_rank(file.path()));
  CHECK_FALSE(find_rank("/nowhere/rank1.json"));
}

}  // namespace gradsync
