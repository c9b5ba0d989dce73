#include "src/commands/sweep_task.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace gradsync;

TEST_CASE("the default: 1 KiB to 64 MiB, doubled") {
  const Result<SweepTask> task = sweep_task({});
  REQUIRE(task);
  CHECK(task->sizes.size() == 17);
  CHECK(task->sizes.front() == 1024);
  CHECK(task->sizes.back() == 64 << 20);
  CHECK(task->operations == std::vector{FabricOperation::all_reduce});
  CHECK(task->max_ms == 40'000);
}

TEST_CASE("halves beside floats: of all_reduce, unless a type is asked for, at sizes that cost little") {
  constexpr std::int64_t kKi = 1024;
  CHECK(sweep_task({})->half_sizes == std::vector<std::int64_t>{16 * kKi, 64 * kKi, 256 * kKi, 1024 * kKi, 4096 * kKi});
  SweepWords words;
  words.operations = {"all_gather"};
  CHECK(sweep_task(words)->half_sizes.empty());
  words.operations = {"all_gather", "all_reduce"};
  CHECK(sweep_task(words)->half_sizes.size() == 5);
  for (const char* type : {"float", "half", "int8"}) {
    words.type = type;
    CHECK(sweep_task(words)->half_sizes.empty());
  }
  constexpr std::int64_t kLargest = 1 << 30;
  CHECK(sizes_for_halves({16 * kKi, 17 * kKi, 18 * kKi, 19 * kKi, kLargest}).empty());  // two are no line
  CHECK(sizes_for_halves({kKi, 16 * kKi, 17 * kKi, 18 * kKi, 19 * kKi, 20 * kKi, kLargest}) ==
        std::vector<std::int64_t>{16 * kKi, 18 * kKi, 20 * kKi});
  CHECK(sizes_for_halves({}).empty());
}

TEST_CASE("words of the command line") {
  SweepWords words;
  words.operations = {"all-gather", "broadcast", "all_gather"};
  words.smallest = "3";
  words.largest = "20";
  words.sizes = {"6", "1k"};
  words.type = "half";
  const Result<SweepTask> task = sweep_task(words);
  REQUIRE(task);
  CHECK(task->operations == std::vector{FabricOperation::all_gather, FabricOperation::broadcast});
  CHECK(task->sizes == std::vector<std::int64_t>{3, 6, 12, 1024});
  CHECK(task->type == ElementType::float16);
  words.operations = {"all"};
  CHECK(sweep_task(words)->operations.size() == 6);
}

TEST_CASE("what is wrong, with what, and what would do") {
  struct Case {
    const char* name;
    void (*change)(SweepWords&);
    const char *what, *on, *why;
  };
  for (const auto& [name, change, what, on, why] :
       {Case{"operation", [](SweepWords& w) { w.operations = {"allreduce"}; }, "--op", "allreduce",
             "not an operation that is swept"},
        Case{"type", [](SweepWords& w) { w.type = "double"; }, "--type", "double", "not a type that is swept"},
        Case{"order", [](SweepWords& w) { w.smallest = "1M", w.largest = "1K"; }, "--min", "1M",
             "larger than --max 1K"},
        Case{"zero", [](SweepWords& w) { w.smallest = "0"; }, "--min", "0", "a message has at least one byte"},
        Case{"overflow", [](SweepWords& w) { w.largest = "99999999T"; }, "--max: not a size:", "'99999999T'",
             "too large"},
        Case{"word", [](SweepWords& w) { w.sizes = {"big"}; }, "--sizes: not a size:", "'big'", "no number"},
        Case{"one rank", [](SweepWords& w) { w.ranks = 1; }, "--ranks", "1",
             "with one rank nothing travels: what it measures is a copy in memory"},
        Case{"negative", [](SweepWords& w) { w.ranks = -2; }, "--ranks", "-2", "not a number of ranks"},
        Case{"repeats", [](SweepWords& w) { w.repeats = 0; }, "--repeat", "0", "not a number of repeats"},
        Case{"timeout", [](SweepWords& w) { w.timeout = "0"; }, "--timeout", "0", "shorter than a millisecond"},
        Case{"interface", [](SweepWords& w) { w.interface_name = "no-such0"; }, "--interface", "no-such0",
             "there is none of this name here"}}) {
    const std::string label = name;
    CAPTURE(label);
    SweepWords words;
    change(words);
    const Result<SweepTask> task = sweep_task(words);
    REQUIRE_FALSE(task);
    CHECK(task.error().what == what);
    CHECK(task.error().on == on);
    CHECK(task.error().why == why);
    CHECK_FALSE(task.error().hint.empty());
    CHECK(task.error().exit_status == 2);
  }
}

TEST_CASE("sizes that the memory here cannot hold are refused before it is tried") {
  SweepWords words;
  words.largest = "64T";
  words.ranks = 8;
  const Result<SweepTask> task = sweep_task(words);
  REQUIRE_FALSE(task);
  CHECK(task.error().what == "--max");
  CHECK(task.error().why.find("its buffers need") == 0);
}

TEST_CASE("a job's own sizes: those that take the most time, each once") {
  Report job;
  job.series["messages"] = {"messages",
                            {"group", "op", "bytes", "count_per_step", "total_ms", "exposed_ms"},
                            {{"0", "all_reduce", std::int64_t{4096}, 1.0, 0.5, 0.1},
                             {"0", "all_reduce", std::int64_t{1 << 20}, 1.0, 9.0, 0.1},
                             {"1", "all_gather", std::int64_t{4096}, 1.0, 10.0, 0.1},
                             {"0", "all_reduce", std::int64_t{0}, 1.0, 50.0, 0.1}}};
  const Result<std::vector<std::int64_t>> sizes = message_sizes(job, "job.json");
  REQUIRE(sizes);
  CHECK(*sizes == std::vector<std::int64_t>{4096, 1 << 20});
  for (std::int64_t i = 1; i < 100; ++i)
    job.series["messages"].rows.push_back({"0", "all_reduce", i * 100, 1.0, 1.0, 0.0});
  CHECK(message_sizes(job, "job.json")->size() == 16);
  CHECK_FALSE(message_sizes(Report{}, "job.json"));
  CHECK(message_sizes(Report{}, "job.json").error().on == "job.json");
}
