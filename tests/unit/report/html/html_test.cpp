// Pages of small reports: those in golden/ are also read by check_html.py, which knows what a page must be.
#include "src/report/html.h"

#include <doctest/doctest.h>

#include "tests/unit/report/examples.h"
#include "tests/unit/report/golden.h"

namespace gradsync {
namespace {

std::size_t times(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// Two ranks of 12 steps; a profiler watched two, a third went without the hook. Step 4 lane by lane, and step 9, the worst.
Report pictured_report() {
  Report report = healthy_report();
  Series& steps = report.series["steps"];
  steps = {"steps", {"rank", "step", "variant", "deep", "time_ms", "compute_ms", "comm_unsplit_ms", "idle_ms"}, {}};
  for (std::int64_t rank = 0; rank < 2; ++rank)
    for (std::int64_t step = 1; step <= 12; ++step) {
      const double comm = step == 9 ? 30 : 5 + static_cast<double>(rank);
      steps.rows.push_back(
          {rank, step, std::int64_t{step == 12}, std::int64_t{step == 5 || step == 6}, 41 + comm, 40.0, comm, 1.0});
    }
  report.series["lanes"] = {
      "lanes",
      {"rank", "step", "lane", "start_us", "duration_us", "kind", "name"},
      {{std::int64_t{0}, std::int64_t{9}, "python3 7", 0.0, 12000.0, "forward", "DistributedDataParallel.forward"},
       {std::int64_t{0}, std::int64_t{9}, "python3 7", 12000.0, 28000.0, "backward", ""},
       {std::int64_t{1}, std::int64_t{9}, "communication", 40000.0, 30000.0, "collective", "all_reduce"},
       {std::int64_t{0}, std::int64_t{4}, "stream 7", 100.0, 40.0, "kernel", "sgemm"}}};
  report.facts["lanes.median_step"] = "4";
  report.facts["lanes.worst_step"] = "9";
  report.series["messages"] = {"messages",
                               {"group", "op", "bytes", "count_per_step", "total_ms", "exposed_ms"},
                               {{"default", "all_reduce", std::int64_t{4096}, 20.0, 2.0, 0.5},
                                {"default", "all_reduce", std::int64_t{26214400}, 4.0, 11.0, 4.5}}};
  return report;
}

Report remedies_report() {
  Report report;
  report.command = "whatif";
  report.series["whatif"] = {
      "whatif",
      {"remedy", "p05", "p50", "p95", "probability", "needs", "kind", "worth_trying", "hint"},
      {{"no_compression", 40.2, 47.1, 52.0, 1.0, "leave the gradient as it is", "predicted", "yes", ""},
       {"fp16_hook", -3.0, 1.0, 4.5, 0.6, "the fp16 hook", "predicted", "", ""},
       {"rdma_bound", "", 9.0, "", "", "RDMA", "bound", "", ""},
       {"two_level", "", "", "", "", "groups of hosts", "could not judge", "", "gradsync-doctor sweep"}}};
  return report;
}

Report interrupts_report() {
  Report report;
  report.command = "irq";
  report.facts["job"] = "none";
  report.series["irq_cpus"] = {"irq_cpus", {"cpu", "node", "training"}, {}};
  for (std::int64_t cpu = 0; cpu < 4; ++cpu)
    report.series["irq_cpus"].rows.push_back({cpu, cpu / 2, std::int64_t{cpu == 0 ? 1 : 0}});
  report.series["irq"] = {"irq",
                          {"device", "irq", "cpu", "count", "vector", "role", "interval_s"},
                          {{"eth0", "40", std::int64_t{0}, std::int64_t{20000}, "eth0-TxRx-0", "queue", 10.0},
                           {"eth0", "41", std::int64_t{3}, std::int64_t{0}, "eth0-TxRx-1", "queue", 10.0}}};
  report.series["irq_plan"] = {
      "irq_plan",
      {"irq", "vector", "decision", "from", "to", "rate_hz", "reason", "do", "undo"},
      {{"40", "eth0-TxRx-0", "move", std::int64_t{0}, std::int64_t{2}, 2000.0, "CPU 0 runs training thread 7",
        "echo 2 >smp_affinity_list", "echo 0 >smp_affinity_list"}}};
  return report;
}

}  // namespace

TEST_CASE("whole pages: findings, pictures of a job, a sweep, remedies, interrupts, and one that is hostile") {
  for (const auto& [name, report] :
       {std::pair{"slow_topk", slow_topk_report()},
        {"pictured", pictured_report()},
        {"sweep", sweep_report()},
        {"remedies", remedies_report()},
        {"interrupts", interrupts_report()},
        {"unmeasured", unmeasured_report()},
        {"hostile", poisoned_report("\"'><script>alert(1)</script><b onclick=\"x\">&lt;\x1b[2J\xff\n"
                                    "\xe2\x80\xae]]>-->\xef\xbf\xbf")}}) {
    const std::string page = render_html(report);
    CHECK(page == golden(std::string(name) + ".html", page));
  }
}

TEST_CASE("strings of the job are text wherever they stand") {
  const std::string page = render_html(poisoned_report("<script>alert(1)</script>\" onload=\"x"));
  CHECK(times(page, "<script") == 1);  // the page's own
  CHECK(times(page, "\" onload=\"") == 0);
  CHECK(times(page, "&lt;script&gt;alert(1)&lt;/script&gt;&quot; onload=&quot;x") > 50);
}

TEST_CASE("each finding can be linked to, also the folded ones, and ids of one rule are told apart by scope") {
  const Report report = slow_topk_report();
  const std::string page = render_html(report);
  for (const Finding& finding : report.findings) {
    if (finding.state != FindingState::fired) continue;
    std::string id = finding.rule;
    if (finding.scope != "all")
      id += "-" + finding.scope.substr(0, finding.scope.find(':')) + "-" +
            finding.scope.substr(finding.scope.find(':') + 1);
    CAPTURE(id);
    CHECK(times(page, "id=\"" + id + "\"") == 1);
  }
}

TEST_CASE("a series that is not there is no picture") {
  Report report = pictured_report();
  CHECK(times(render_html(report), "<figure>") == 6);  // the bar, two of steps, two of lanes, messages
  report.series.clear();
  CHECK(times(render_html(report), "<figure>") == 1);
}

TEST_CASE("a long job's page stays small") {
  Report report = pictured_report();
  Series &steps = report.series["steps"], &lanes = report.series["lanes"];
  const std::vector<std::vector<Cell>> some = steps.rows, event = {lanes.rows[0]};
  for (std::int64_t step = 13; step < 5000; ++step)
    for (std::vector<Cell> row : some) {
      row[1] = step;
      steps.rows.push_back(std::move(row));
    }
  for (std::int64_t i = 0; i < 2000; ++i) {
    lanes.rows.push_back(event[0]);
    lanes.rows.back()[3] = static_cast<double>(i) * 6;
  }
  CHECK(render_html(report).size() < 800'000);
}

}  // namespace gradsync
