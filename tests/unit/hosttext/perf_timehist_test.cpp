#include "src/hosttext/perf_timehist.h"

#include <doctest/doctest.h>

#include <cmath>

namespace gradsync {
namespace {

PerfTimehistParser parsed(std::string_view text) {
  PerfTimehistParser parser;
  while (!text.empty()) {
    const std::size_t length = std::min(text.find('\n'), text.size());
    parser.add_line(text.substr(0, length));
    text.remove_prefix(std::min(length + 1, text.size()));
  }
  return parser;
}

ThreadWait of(const PerfTimehistParser& parser, const std::string& thread) {
  for (const ThreadWait& wait : parser.threads())
    if (wait.thread == thread) return wait;
  FAIL("no thread " << thread);
  return unknown_wait("");
}

}  // namespace

TEST_CASE("one line for each time a thread leaves a CPU") {
  const PerfTimehistParser parser = parsed(
      "Samples do not have callchains.\n"
      "           time    cpu  task name                       wait time  sch delay   run time\n"
      "                        [tid/pid]                          (msec)     (msec)     (msec)\n"
      "--------------- ------  ------------------------------  ---------  ---------  ---------\n"
      "    1947.018099 [0000]  my train [x][2341/2340]             0.000      0.019      1.500 \n"
      "    1947.018193 [0000]  <idle>                              0.000      0.000      0.074 \n"
      "    1947.018212 [0001]  my train [x][2341/2340]             5.000      0.000      0.500 \n"
      "    1947.018297 [0000]  my train [x][2341/2340]             7.000      2.004      0.104 \n");
  CHECK(parser.rows() == 4);
  CHECK(parser.broken_rows() == 0);
  REQUIRE(parser.threads().size() == 1);
  const ThreadWait t = of(parser, "my train [x]:2341");
  CHECK(t.count == 2);  // 0.000: preempted, no wake-up was seen
  CHECK(t.max_us == doctest::Approx(2004));
  CHECK(t.run_us == doctest::Approx(2104));
  CHECK(std::isnan(t.wait_us));  // its waits hold sleep
  CHECK(std::isnan(t.migrations));
}

TEST_CASE("with the picture of CPUs, states, wake-ups and migrations") {
  const PerfTimehistParser parser = parsed(
      "           time    cpu  0123  task name                       wait time  sch delay   run time  state\n"
      "                              [tid/pid]                          (msec)     (msec)     (msec)       \n"
      "--------------- ------  ----  ------------------------------  ---------  ---------  ---------  -----\n"
      "    1947.018099 [0001]   s    python3[9]                          0.000      0.250      1.500      S  next: "
      "b[7]\n"
      "    1947.018100 [0001]   w    python3[9]                                                            awakened: "
      "b[7]\n"
      "    1947.018101 [0001]   m    python3[9]                                                            migrated: "
      "b[7] "
      "cpu 1 => 3\n"
      "    1947.018300 [0003]     s  b[7]                                0.000      0.010      0.100      R\n");
  CHECK(parser.broken_rows() == 0);
  CHECK(of(parser, "python3:9").max_us == doctest::Approx(250));
  CHECK(of(parser, "python3:9").migrations == 0);
  CHECK(of(parser, "b:7").migrations == 1);
  CHECK(of(parser, "b:7").count == 1);
}

TEST_CASE("broken rows are counted, and rows without a header are not guessed at") {
  const std::string header =
      "           time    cpu  task name                       wait time  sch delay   run time\n";
  const PerfTimehistParser parser = parsed(header +
                                           "    1947.018099 [0000]  perf[2351]                   0.000\n"
                                           "    1947.018099 [0000]  perf                         0.000  0.000  0.000\n"
                                           "    1947.018099 [0000]  perf[1]  x  y  z\n"
                                           "    1947.018099 [00\n    ][   \n[]\n");
  CHECK(parser.threads().empty());
  CHECK(parser.broken_rows() == 3);
  CHECK(parsed("    1947.018099 [0000]  perf[2351]   0.000   0.100   0.000\n").threads().empty());
  CHECK_FALSE(is_timehist_header("task name and nothing else"));
}

}  // namespace gradsync
