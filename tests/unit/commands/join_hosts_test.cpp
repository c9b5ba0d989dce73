#include "src/commands/join_hosts.h"

#include <doctest/doctest.h>

namespace gradsync {
namespace {

Report told(std::int64_t row, const Facts& facts, const std::vector<Coverage>& coverage, int status = 0) {
  Report parts;
  parts.series["nic"] = {"nic", {"machine", "rx_bytes"}, {{"m", row}}};
  parts.facts = facts;
  parts.coverage = coverage;
  parts.run.exit_status = status;
  return parts;
}

Coverage entry(const std::string& source, const std::string& reason) {
  return {source, "C", CoverageState::partial, reason, "", 0};
}

}  // namespace

TEST_CASE("rows together; what hosts share once, what they do not by its host") {
  const Report all = join_hosts(
      {{"a", told(1, {{"topology.governor", "performance"}, {"topology.numa_nodes", "2"}, {"doctor.cpu_ms", "7"}},
                  {entry("scheduler", "run it as root"), entry("deep window", "off")})},
       {"b", told(2, {{"topology.governor", "powersave"}, {"topology.numa_nodes", "2"}, {"doctor.cpu_ms", "9"}},
                  {entry("scheduler", "run it as root"), entry("interrupts", "")}, 3)}});
  CHECK(all.series.at("nic").rows == std::vector<std::vector<Cell>>{{"m", std::int64_t{1}}, {"m", std::int64_t{2}}});
  CHECK(all.facts.at("topology.governor") == "a: performance; b: powersave");
  CHECK(all.facts.at("topology.numa_nodes") == "2");
  CHECK(all.facts.at("doctor.cpu_ms") == "7");
  CHECK(all.run.exit_status == 3);
  REQUIRE(all.coverage.size() == 3);
  CHECK(all.coverage[0].reason == "run it as root");
  CHECK(all.coverage[1].reason == "on a: off");
  CHECK(all.coverage[2].reason == "on b");
}

TEST_CASE("a fact of one host alone names it; tables of other columns are left out, and said") {
  Report other = told(2, {{"sched.stopped", "python3:9"}}, {});
  other.series["nic"].columns.emplace_back("new");
  other.series["nic"].rows[0].emplace_back(std::int64_t{5});
  const Report all = join_hosts({{"a", told(1, {}, {})}, {"b", other}});
  CHECK(all.facts.at("sched.stopped") == "b: python3:9");
  CHECK(all.series.at("nic").rows.size() == 1);
  REQUIRE(all.coverage.size() == 1);
  CHECK(all.coverage[0].reason == "that of b has other columns: another version wrote it");
}

TEST_CASE("a core that threads share: the host where it is gravest, in the words that rules know") {
  const Report all = join_hosts(
      {{"a", told(1, {{"sched.same_core.kind", "none"}}, {})},
       {"b", told(2, {{"sched.same_core.kind", "same CPU"}, {"sched.same_core", "CPU 3: x, y"}}, {})},
       {"c", told(3, {{"sched.same_core.kind", "SMT siblings"}, {"sched.same_core", "CPU 1,5: x, y"}}, {})}});
  CHECK(all.facts.at("sched.same_core.kind") == "same CPU");
  CHECK(all.facts.at("sched.same_core") == "b: CPU 3: x, y");
}

TEST_CASE("one host is as it was, none is empty") {
  const Report one = join_hosts({{"", told(1, {{"x", "1"}}, {entry("scheduler", "why")})}});
  CHECK(one.facts.at("x") == "1");
  CHECK(one.coverage.at(0).reason == "why");
  CHECK(join_hosts({}).series.empty());
}

}  // namespace gradsync
