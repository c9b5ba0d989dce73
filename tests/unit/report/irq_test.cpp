#include <doctest/doctest.h>

#include "src/report/terminal.h"

namespace gradsync {
namespace {

// Two nodes of four CPUs; of eth0's queues one is busy on CPU 0, where the training runs, and one does not come.
Report example() {
  Report report;
  report.command = "irq";
  report.facts["job"] = "none";
  Series& cpus = report.series["irq_cpus"];
  cpus = {"irq_cpus", {"cpu", "node", "training"}, {}};
  for (std::int64_t cpu = 0; cpu < 8; ++cpu) cpus.rows.push_back({cpu, cpu / 4, std::int64_t{cpu == 0 ? 1 : 0}});
  report.series["irq"] = {"irq",
                          {"device", "irq", "cpu", "count", "vector", "role", "interval_s"},
                          {{"eth0", "40", std::int64_t{0}, std::int64_t{20000}, "eth0-TxRx-0", "queue", 10.0},
                           {"eth0", "40", std::int64_t{5}, std::int64_t{1000}, "eth0-TxRx-0", "queue", 10.0},
                           {"eth0", "41", std::int64_t{3}, std::int64_t{0}, "eth0-TxRx-1", "queue", 10.0},
                           {"", "LOC", std::int64_t{1}, std::int64_t{9999}, "Local timer", "cpu", 10.0}}};
  report.series["irq_plan"] = {
      "irq_plan",
      {"irq", "vector", "decision", "from", "to", "rate_hz", "reason", "do", "undo"},
      {{"40", "eth0-TxRx-0", "move", std::int64_t{0}, std::int64_t{2}, 2100.0, "CPU 0 runs training thread 7 (comm)",
        "echo 2 >/proc/irq/40/smp_affinity_list", "echo 0-7 >/proc/irq/40/smp_affinity_list"},
       {"41", "eth0-TxRx-1", "leave", std::int64_t{3}, 0.0, 0.0, "0/s: below 100/s it costs too little to matter", "",
        ""}}};
  return report;
}

TEST_CASE("queues by CPU: the busiest cell, the training's CPUs, who serves, and where the plan goes") {
  TerminalOptions options;
  options.width = 80;
  const std::string text = render_terminal(example(), options);
  CAPTURE(text);
  for (const char* line :
       {"                            node 0      node 1\n", "  CPU                       0  1  2  3  4  5  6  7\n",
        "  training                  TTT\n", "  40 eth0-TxRx-0            ███···▹▹▹······░░░······",
        "  41 eth0-TxRx-1            ·········○○○············",
        "  40 eth0-TxRx-0  CPU 0 → 2  2100/s  CPU 0 runs training thread 7 (comm)\n",
        "  left alone: below 100/s it costs too little to matter (41)\n", "  echo 2 >/proc/irq/40/smp_affinity_list"})
    CHECK(text.find(line) != std::string::npos);
}

TEST_CASE("in ASCII, and in the narrowest terminal") {
  TerminalOptions options;
  options.width = 40;
  options.charset = Charset::ascii;
  const std::string text = render_terminal(example(), options);
  CAPTURE(text);
  CHECK(text.find("  40 eth0-Tx... #.>..-..") != std::string::npos);
  CHECK(text.find("  41 eth0-Tx... ...o....") != std::string::npos);
  for (const char c : text) CHECK(static_cast<unsigned char>(c) < 128);
}

TEST_CASE("1024 CPUs share columns") {
  Report report = example();
  Series& cpus = report.series["irq_cpus"];
  for (std::int64_t cpu = 8; cpu < 1024; ++cpu) cpus.rows.push_back({cpu, cpu / 128, std::int64_t{0}});
  const std::string text = render_terminal(report, {});
  CHECK(text.find("a column is 26 CPUs") != std::string::npos);
}

}  // namespace
}  // namespace gradsync
