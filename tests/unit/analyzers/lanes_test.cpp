// Two steps for a picture: which, from when, and how many events.
#include <doctest/doctest.h>

#include <map>
#include <set>

#include "src/model/series_table.h"
#include "tests/unit/analyzers/run_analyzers.h"

using namespace gradsync;
using test::analyze;
using test::repeat_step;

namespace {

// A step of 100 ms in microseconds, and one of 150 behind the others.
std::string job(int rank, int steps, int begins_later_us) {
  std::string text = "process host=n pid=" + std::to_string(rank + 1) + "\nfact rank=" + std::to_string(rank) + "\n";
  const auto at = [&](int us) { return std::to_string(us + begins_later_us); };
  for (int step = 0; step < steps; ++step) {
    const int begin = step * 100000, length = step + 1 == steps ? 150000 : 100000;
    text += "step " + std::to_string(step) + " " + at(begin) + ".." + at(begin + length) + "\n";
    text += "range forward " + at(begin + 1000) + ".." + at(begin + 30000) + "\n";
    text += "range backward " + at(begin + 30000) + ".." + at(begin + 80000) + "\n";
    text += "collective all_reduce " + at(begin + 60000) + ".." + at(begin + 90000) + " bytes=4096\n";
  }
  return text;
}

}  // namespace

TEST_CASE("a median step and the worst, each from where its first rank began") {
  const Conclusions found = analyze(job(0, 20, 0) + job(1, 20, 250));
  REQUIRE(found.series.contains("lanes"));
  const std::vector<SeriesRow> rows = rows_of(found.series.at("lanes"));
  const std::string worst = found.facts.at("lanes.worst_step"), middle = found.facts.at("lanes.median_step");
  CHECK(worst == "19");
  CHECK(middle != worst);
  std::set<std::pair<double, double>> seen;  // rank, step
  std::set<std::string> lanes;
  for (const SeriesRow& row : rows) {
    seen.insert({*row.number("rank"), *row.number("step")});
    lanes.insert(row.text("lane"));
    if (row.text("kind") != "forward") continue;
    CHECK(*row.number("start_us") == 1000 + 250 * *row.number("rank"));
    CHECK(*row.number("duration_us") == 29000);
  }
  CHECK(seen.size() == 4);
  CHECK(lanes == std::set<std::string>{"communication", "training thread"});
  CHECK(rows.size() == 12);
}

TEST_CASE("of a step with too many events the longest are kept: 2000 rows for both steps") {
  std::string body = "range forward @0..@30000\nrange backward @30000..@80000\n";
  for (int i = 0; i < 1500; ++i)
    body += "host_sync Tensor.item @" + std::to_string(100 + 50 * i) + "..@" + std::to_string(110 + 50 * i) + "\n";
  const Conclusions found = analyze("process host=n pid=1\nfact rank=0\n" + repeat_step(12, 100000, body));
  const std::vector<SeriesRow> rows = rows_of(found.series.at("lanes"));
  CHECK(rows.size() <= 2000);
  CHECK(rows.size() >= 1000);
  std::size_t long_ones = 0;
  for (const SeriesRow& row : rows) long_ones += *row.number("duration_us") > 1000 ? 1 : 0;
  CHECK(long_ones % 2 == 0);
  CHECK(long_ones >= 2);
}

TEST_CASE("what a trace of the host tells stands with the thread that it names") {
  const std::string waits =
      "process host=n pid=9\n"
      "sched_wait python3 1102000..1103000 bytes=1 seq=41 group=burn:911 source=host\n"
      "irq pt_autograd 1104000..1104100 bytes=1 seq=43 group=eth0-TxRx-0 source=host\n";
  std::string events = job(0, 12, 0);
  events.insert(events.find("fact"), "lane 0 tid=41 name=python3\nlane 2 tid=42 name=python3\n");
  std::map<std::string, std::string> lane_of, name_of;
  const Conclusions found = analyze(events + waits);
  for (const SeriesRow& row : rows_of(found.series.at("lanes"))) {
    lane_of[row.text("kind")] = row.text("lane");
    name_of[row.text("kind")] = row.text("name");
  }
  CHECK(lane_of["backward"] == "training thread");
  CHECK(lane_of["sched_wait"] == "training thread");
  CHECK(name_of["sched_wait"] == "burn:911");
  CHECK(lane_of["irq"] == "pt_autograd");
  CHECK(name_of["irq"] == "eth0-TxRx-0");
}

TEST_CASE("without steps that count there is no picture of one") {
  CHECK_FALSE(analyze("").series.contains("lanes"));
  CHECK_FALSE(analyze("process host=n pid=1\nfact rank=0\nrange forward 0..100\n").series.contains("lanes"));
}
