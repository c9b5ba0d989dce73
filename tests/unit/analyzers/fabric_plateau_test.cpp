// The guards: what is above the link by right, what is below it, and what is no collective.
#include <doctest/doctest.h>

#include "analyzers/analyzers.h"
#include "tests/unit/analyzers/sweeps.h"

namespace gradsync {
namespace {

// busbw of a send/receive is its algorithm's: `gbytes_per_s` at large sizes.
Inputs fabric(const std::string& operation, double gbytes_per_s, const char* backend = "gloo", const char* nodes = "2",
              const char* ranks = "2") {
  const auto us = [gbytes_per_s](double bytes) { return 20 + bytes / gbytes_per_s * 1e-3; };
  Inputs inputs = test::live_sweep(operation, us, {.sizes = 17, .noise = 0.01});
  inputs.facts["backend"] = std::string(backend);
  inputs.facts["sweep.nodes"] = std::string(nodes);
  inputs.facts["sweep.ranks"] = std::string(ranks);
  inputs.facts["link.gbits_per_s"] = std::string("80");  // 10 GB/s
  return inputs;
}

Conclusions conclude(const Inputs& inputs) {
  Conclusions conclusions;
  for (const auto& analyzer : {make_fabric_curve(), make_fabric_fit(), make_fabric_plateau()})
    analyzer->conclude(Summary{}, inputs, conclusions);
  return conclusions;
}

void add_choice(Inputs& inputs, const char* algorithm) {
  Series& choices = inputs.series["nccl_choices"];
  choices.columns = {"operation", "bytes", "algorithm", "protocol", "channels", "count"};
  choices.rows = {{std::string("all_reduce"), std::int64_t{64 << 20}, std::string(algorithm), std::string("Simple"),
                   std::int64_t{8}, std::int64_t{20}}};
}

}  // namespace

TEST_CASE("the plateau is what large messages reach of the link") {
  const Conclusions found = conclude(fabric("send_recv", 6));
  CHECK(*found.metrics.value("fabric.send_recv.plateau_percent", "all") == doctest::Approx(60).epsilon(0.02));
  CHECK(*found.metrics.value("fabric.plateau_percent", "all") == doctest::Approx(60).epsilon(0.02));
  CHECK(found.facts.at("sweep.plateau.where") == "send_recv");
  CHECK(found.facts.at("sweep.guard.send_recv") == "within the guard of at most 10 GB/s");
}

TEST_CASE("the link may come from the rows of the interface in use, between nodes alone") {
  Inputs inputs = fabric("send_recv", 6);
  inputs.facts.erase("link.gbits_per_s");
  inputs.facts["interface"] = std::string("eth0");
  inputs.series["links"] = {"links",
                            {"interface", "gbits_per_s", "source"},
                            {{std::string("eth0"), std::int64_t{100}, std::string("ethernet")},
                             {std::string("eth0"), 64.0, std::string("pcie")},
                             {std::string("eth1"), std::int64_t{10}, std::string("ethernet")}}};
  CHECK(*conclude(inputs).metrics.value("fabric.plateau_percent", "all") == doctest::Approx(75).epsilon(0.02));
  inputs.facts["sweep.nodes"] = std::string("1");
  CHECK_FALSE(conclude(inputs).metrics.value("fabric.plateau_percent", "all"));
}

TEST_CASE("behind a cliff the link is not what is slow: the best size tells what it can do") {
  const auto us = [](double bytes) { return 20 + bytes / (bytes <= 4 << 20 ? 9.5e3 : 4e3); };
  Inputs inputs = fabric("send_recv", 6);
  inputs.series = test::live_sweep("send_recv", us, {.sizes = 17, .noise = 0.01}).series;
  CHECK(*conclude(inputs).metrics.value("fabric.plateau_percent", "all") > 85);
}

TEST_CASE("a sweep that ends while the start-up still counts has no plateau") {
  const auto us = [](double bytes) { return 1000 + bytes / 6e3; };
  Inputs inputs = fabric("send_recv", 6);
  inputs.series = test::live_sweep("send_recv", us, {.noise = 0.01}).series;
  CHECK_FALSE(conclude(inputs).metrics.value("fabric.plateau_percent", "all"));
}

TEST_CASE("above the link is an error of a ring, and legitimate over two nodes, in the switch, or when nobody knows") {
  CHECK(conclude(fabric("send_recv", 10.4)).facts.at("sweep.guard.send_recv").starts_with("within the guard"));
  CHECK(conclude(fabric("send_recv", 11)).facts.at("sweep.guard.send_recv") == "above the guard of at most 10 GB/s");
  // 16 ranks: the tree over two nodes shows 1.875 times the link as bus bandwidth.
  const Conclusions two = conclude(fabric("all_reduce", 9.9, "gloo", "2", "16"));
  CHECK(two.facts.at("sweep.guard.all_reduce") == "within the guard of at most 18.8 GB/s over two nodes");
  const Conclusions three = conclude(fabric("all_reduce", 9.9, "gloo", "3", "16"));
  CHECK(three.facts.at("sweep.guard.all_reduce").starts_with("above the guard of at most 10 GB/s"));
  Inputs nvls = fabric("all_reduce", 9.9, "nccl", "3", "16");
  CHECK(conclude(nvls).facts.at("sweep.guard.all_reduce") == "no upper guard: the algorithm is not known");
  add_choice(nvls, "NVLSTree");
  CHECK(conclude(nvls).facts.at("sweep.guard.all_reduce").starts_with("no upper guard: with NVLSTree"));
  add_choice(nvls, "Ring");
  CHECK(conclude(nvls).facts.at("sweep.guard.all_reduce").starts_with("above the guard"));
}

TEST_CASE("numbers are no collective's for one rank, wrong results, or a time below an empty kernel's alone") {
  Inputs inputs = fabric("all_reduce", 11);
  CHECK(conclude(inputs).facts.at("sweep.not_a_collective") == "no");  // above the link is no such reason
  inputs.facts["empty_kernel_us"] = std::string("30");
  CHECK(conclude(inputs).facts.at("sweep.not_a_collective") == "too fast");
  CHECK(conclude(inputs).facts.at("sweep.not_a_collective.where") == "all_reduce of 1 KiB");
  inputs.facts["empty_kernel_us"] = std::string("3");
  std::get<std::int64_t>(inputs.series["sweep_samples.all_reduce"].rows[5][7]) = 2;
  CHECK(conclude(inputs).facts.at("sweep.not_a_collective") == "wrong results");
  CHECK(conclude(fabric("all_reduce", 11, "gloo", "1", "1")).facts.at("sweep.not_a_collective") == "one rank");
}

TEST_CASE("calls replayed from a graph have a guard of their own") {
  Inputs inputs = fabric("all_reduce", 5, "nccl");
  inputs.facts["empty_kernel_us"] = std::string("10");
  for (auto& row : inputs.series["sweep_samples.all_reduce"].rows) row[6] = 8.0;
  CHECK(conclude(inputs).facts.at("sweep.not_a_collective") == "no");
  for (auto& row : inputs.series["sweep_samples.all_reduce"].rows) row[6] = 0.5;
  CHECK(conclude(inputs).facts.at("sweep.not_a_collective.where") == "all_reduce of 1 KiB from a graph");
}

}  // namespace gradsync
