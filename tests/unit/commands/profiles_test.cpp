#include "src/commands/profiles.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cmath>
#include <cstdlib>
#include <fstream>

#include "analyzers/fabric_cost.h"
#include "src/commands/profile_choice.h"
#include "src/commands/recording_parts.h"
#include "src/report/json.h"
#include "tests/unit/commands/state_home.h"

using namespace gradsync;
namespace fs = std::filesystem;

namespace {

using test::StateHome;

constexpr std::int64_t kNoon = 1'764'504'000;  // 2025-11-30T12:00:00Z

Profile two_ranks(std::int64_t measured_at = kNoon) {
  Profile profile;
  profile.hosts = {"node1"};
  profile.backend = "gloo";
  profile.ranks = 2;
  profile.versions = {{"gloo", "0.5"}};
  profile.measured_at = {{"all_reduce", measured_at}};
  profile.fabric = FabricFit{"", "gloo", 2, {}};
  profile.fabric->types["float"] = {{"all_reduce", {{1024, 65536, 38.25, 0.0005}, {131072, 1 << 26, 70, 0.00025}}}};
  choose_curves(*profile.fabric);
  return profile;
}

RankTimeline rank_on(const std::string& host, const std::string& backend, std::int64_t began = 0) {
  RankTimeline rank;
  rank.process.host = host;
  rank.process.realtime = began * 1'000'000'000;
  rank.facts["backend"] = backend;
  return rank;
}

std::vector<RankTimeline> job(const std::string& host, const std::string& backend, std::int64_t began = 0) {
  std::vector<RankTimeline> ranks;
  ranks.push_back(rank_on(host, backend, began));
  ranks.push_back(rank_on(host, backend, began));
  return ranks;
}

const Coverage* about_profile(const Inputs& inputs) {
  for (const Coverage& entry : inputs.coverage)
    if (entry.source == "fabric profile") return &entry;
  return nullptr;
}

}  // namespace

TEST_CASE("a profile comes back as it was written") {
  Profile profile = two_ranks();
  profile.loads = {{"topk_select", "cpu", 1 << 20, 1.5, 1.75, 2.5},
                   {"scatter", "cpu", 1 << 20, 1, 2, 3, LoadTimes{1, 2, 3}, 4, 83888, 0.01, 22}};
  profile.measured_at["loads"] = kNoon + 1;
  const Result<Profile> read = profile_from_json(profile_to_json(profile), "p.json");
  REQUIRE(read);
  CHECK(profile_to_json(*read) == profile_to_json(profile));
  CHECK(read->newest() == kNoon + 1);
  const FabricSegment& second = read->fabric->operations.at("all_reduce")[1];
  CHECK(second.from_bytes == 131072);
  CHECK(second.beta_us_per_byte == 0.00025);
  CHECK(read->loads[0].ms_p50 == 1.75);
  CHECK_FALSE(read->loads[0].decompress);
  CHECK(read->loads[0].wire_bytes == 0);
  CHECK(read->loads[1].decompress->p90 == 3);
  CHECK(read->loads[1].ranks == 4);
  CHECK(read->loads[1].wire_bytes == 83888);
  CHECK(read->loads[1].ratio == 0.01);
  CHECK(read->loads[1].roofline_percent == 22);
}

TEST_CASE("the report of a sweep is a profile: of floats, without load, where the fit is close to the times") {
  Report report;
  report.run.hosts = {"node1"};
  report.run.backend = "gloo";
  report.run.ranks = 2;
  report.facts["sweep.at"] = "2025-11-30T12:00:00Z";
  report.series["fabric_fit"] = {
      "fabric_fit",
      {"operation", "type", "load", "from_bytes", "to_bytes", "alpha_us", "us_per_mib", "mape_percent", "source"},
      {{"all_reduce", "int8", "", std::int64_t{1024}, std::int64_t{4096}, 9.0, 1048.576, 2.0, "sweep"},
       {"all_reduce", "float", "", std::int64_t{1024}, std::int64_t{4096}, 40.0, 1048.576, 2.0, "sweep"},
       {"all_reduce", "float", "busy", std::int64_t{1024}, std::int64_t{4096}, 400.0, 1048.576, 2.0, "sweep"},
       {"broadcast", "float", "", std::int64_t{1024}, std::int64_t{4096}, 4.0, 1.0, 43.0, "sweep"}}};
  const std::optional<Profile> profile = profile_of(report);
  REQUIRE(profile);
  const auto& segments = profile->fabric->operations.at("all_reduce");
  REQUIRE(segments.size() == 1);
  CHECK(segments[0].alpha_us == 40);
  CHECK(segments[0].beta_us_per_byte == doctest::Approx(0.001));
  CHECK_FALSE(profile->fabric->operations.contains("broadcast"));
  CHECK(profile->fabric->types.at("int8").at("all_reduce")[0].alpha_us == 9);
  CHECK(profile->measured_at.at("all_reduce.int8") == kNoon);
  CHECK(profile->measured_at.at("all_reduce") == kNoon);
  CHECK_FALSE(profile_of(Report{}));
}

TEST_CASE("each type has curves of its own: a sweep of halves leaves those of floats as they are") {
  const StateHome state;
  REQUIRE(save_profile(two_ranks()));
  Profile halves = two_ranks(kNoon + 60);
  const std::vector<FabricSegment> slow{{1024, 65536, 40, 0.005}};
  halves.fabric->types = {{"half", {{"all_reduce", slow}}}};
  choose_curves(*halves.fabric);
  CHECK(halves.fabric->operations.at("all_reduce")[0].alpha_us == 40);  // alone they stand for it
  halves.measured_at = {{"all_reduce.half", kNoon + 60}};
  REQUIRE(save_profile(halves));

  const std::optional<Profile> found = find_profile({});
  REQUIRE(found);
  CHECK(found->fabric->operations.at("all_reduce")[0].alpha_us == 38.25);
  CHECK(found->fabric->types.at("half").at("all_reduce")[0].alpha_us == 40);
  CHECK(found->measured_at ==
        std::map<std::string, std::int64_t>{{"all_reduce", kNoon}, {"all_reduce.half", kNoon + 60}});
}

TEST_CASE("a profile from before there were types is one of floats") {
  Report old;
  old.command = "profile";
  old.series["fabric_fit"] = {"fabric_fit",
                              {"operation", "from_bytes", "to_bytes", "alpha_us", "us_per_mib"},
                              {{"all_reduce", std::int64_t{1024}, std::int64_t{4096}, 40.0, 1048.576}}};
  const Result<Profile> read = profile_from_json(report_to_json(old), "old.json");
  REQUIRE(read);
  CHECK(read->fabric->operations.at("all_reduce")[0].alpha_us == 40);
  CHECK(read->fabric->types.at("float").at("all_reduce")[0].to_bytes == 4096);
  CHECK(read->fabric->types.size() == 1);
}

TEST_CASE("what does not fit is named") {
  const Profile profile = two_ranks();
  struct Case {
    ProfileQuery query;
    const char* says;
  };
  for (const auto& [query, says] :
       {Case{{}, ""}, Case{{{"node1"}, "eth0", "gloo", 2, {{"gloo", "0.5"}, {"torch", "2.1"}}}, ""},
        Case{{{"node2"}, "", "", 0, {}}, "measured on node1, this job runs on node2"},
        Case{{{}, "", "nccl", 0, {}}, "measured with gloo, this job uses nccl"},
        Case{{{}, "", "", 4, {}}, "measured with 2 ranks, this job has 4"},
        Case{{{}, "", "", 0, {{"gloo", "0.6"}}}, "measured with gloo 0.5, this job has 0.6"}})
    CHECK(why_not(profile, query) == says);
  Profile over_eth1 = profile;
  over_eth1.interface_name = "eth1";
  CHECK(why_not(over_eth1, {{}, "eth0", "", 0, {}}) == "measured over eth1, this job uses eth0");
  CHECK(fingerprint_of(over_eth1) != fingerprint_of(profile));
  CHECK(fingerprint_of(two_ranks(5)) == fingerprint_of(profile));
}

TEST_CASE("the newest that fits is found; an operation that is not measured again stays") {
  const StateHome state;
  CHECK_FALSE(find_profile({}));
  Profile old = two_ranks(kNoon - 1000);
  old.fabric->types["float"]["broadcast"] = {{1024, 2048, 1, 1}};
  old.measured_at["broadcast"] = kNoon - 1000;
  REQUIRE(save_profile(old));
  Profile other = two_ranks(kNoon + 1000);
  other.ranks = 4;
  REQUIRE(save_profile(other));
  const Result<fs::path> saved = save_profile(two_ranks());
  REQUIRE(saved);

  const std::optional<Profile> found = find_profile({{"node1"}, "", "gloo", 2, {}});
  REQUIRE(found);
  CHECK(found->measured_at.at("all_reduce") == kNoon);
  CHECK(found->measured_at.at("broadcast") == kNoon - 1000);
  CHECK(found->fabric->operations.contains("broadcast"));
  CHECK(find_profile({})->ranks == 4);
  CHECK_FALSE(find_profile({{"node9"}, "", "", 0, {}}));

  struct stat folder {};
  REQUIRE(::stat(saved->parent_path().c_str(), &folder) == 0);
  CHECK((folder.st_mode & 0777) == 0700);
}

TEST_CASE("reference loads of these hosts are found, those of others are not") {
  const StateHome state;
  Profile loads;
  loads.hosts = {"node1"};
  loads.measured_at = {{"loads", kNoon}};
  loads.loads = {{"cast16", "cpu", 1024, 1, 2, 3}};
  REQUIRE(save_profile(loads));
  loads.loads = {{"cast16", "cpu", 1024, 1, 4, 5}, {"cast8", "cpu", 1024, 1, 2, 3}};
  loads.measured_at = {{"loads", kNoon + 1}};
  REQUIRE(save_profile(loads));
  REQUIRE(saved_loads({"node1"}).size() == 2);
  CHECK(saved_loads({"node1"})[0].ms_p50 == 4);
  CHECK(saved_loads({"node2"}).empty());
  CHECK_FALSE(find_profile({}));  // no fabric
}

TEST_CASE("broken files among the profiles are passed over") {
  const StateHome state;
  const Result<fs::path> saved = save_profile(two_ranks());
  REQUIRE(saved);
  std::ofstream(saved->parent_path() / "a.json") << "{";
  std::ofstream(saved->parent_path() / "b.json") << report_to_json(Report{});
  CHECK(saved_profiles().size() == 1);
  CHECK_FALSE(profile_from_json(report_to_json(Report{}), "b.json"));
}

TEST_CASE("a recording carries what may be used, and the report says which was") {
  const StateHome state;
  REQUIRE(save_profile(two_ranks()));
  const fs::path recording = state.folder() / "recording";
  REQUIRE(make_recording_folder(recording));
  std::vector<Coverage> coverage;
  keep_profiles(recording, {}, {"node1"}, coverage);
  CHECK(coverage.empty());

  Inputs fits;
  choose_profiles(recording, job("node1", "gloo", kNoon + 10800), fits);
  REQUIRE(fits.fabric);
  CHECK(fits.facts.at("fabric.profile") ==
        "gloo, 2 ranks on node1, measured 2025-11-30T12:00:00Z, 3 h 0 min before the job");

  Inputs other;
  other.facts["option.fabric"] = "auto";
  choose_profiles(recording, job("node1", "cpu:mpi,cuda:nccl"), other);
  CHECK_FALSE(other.fabric);
  REQUIRE(about_profile(other) != nullptr);
  CHECK(about_profile(other)->reason == "none that is saved fits: measured with gloo, this job uses mpi");
  CHECK(about_profile(other)->hint == "gradsync-doctor sweep --ranks 2 --backend mpi");

  Inputs unasked;  // a recording of a doctor that knew no profiles
  choose_profiles(recording, job("node1", "nccl"), unasked);
  CHECK(about_profile(unasked) == nullptr);
}

TEST_CASE("ranks that name their interface get the profile of that one, however new another is") {
  const StateHome state;
  Profile loopback = two_ranks(kNoon + 3600), link = two_ranks();
  loopback.interface_name = "lo";
  link.interface_name = "eth1";
  REQUIRE(save_profile(loopback));
  REQUIRE(save_profile(link));
  const fs::path recording = state.folder() / "recording";
  REQUIRE(make_recording_folder(recording));
  std::vector<Coverage> coverage;
  keep_profiles(recording, {}, {"node1"}, coverage);
  const auto chosen = [&](const std::string& interface_name) {
    std::vector<RankTimeline> ranks = job("node1", "gloo");
    for (RankTimeline& rank : ranks)
      if (!interface_name.empty()) rank.facts["gloo.interface"] = interface_name;
    Inputs inputs;
    choose_profiles(recording, ranks, inputs);
    return inputs.fabric ? inputs.facts.at("fabric.profile") : "none";
  };
  CHECK(chosen("eth1").find("over eth1") != std::string::npos);
  CHECK(chosen("lo").find("over lo") != std::string::npos);
  CHECK(chosen("").find("over lo") != std::string::npos);  // nothing is known: the newest
  CHECK(chosen("eth2") == "none");
}

TEST_CASE("a named profile is used whatever it was measured on, and what does not fit is said") {
  const StateHome state;
  const fs::path recording = state.folder() / "recording";
  REQUIRE(make_recording_folder(recording));
  std::vector<Coverage> coverage;
  keep_profiles(recording, {two_ranks(), std::nullopt}, {"node2"}, coverage);
  Inputs inputs;
  choose_profiles(recording, job("node2", "gloo"), inputs);
  CHECK(inputs.fabric);
  REQUIRE(about_profile(inputs) != nullptr);
  CHECK(about_profile(inputs)->state == CoverageState::partial);
  CHECK(about_profile(inputs)->reason == "measured on node1, this job runs on node2");
  CHECK(inputs.facts.at("fabric.mismatches") == "yes");
  CHECK(inputs.facts.at("fabric.mismatch") == "measured on node1, this job runs on node2");
  Inputs fitting;
  choose_profiles(recording, job("node1", "gloo"), fitting);
  CHECK(fitting.facts.at("fabric.mismatches") == "no");
  CHECK_FALSE(fitting.facts.contains("fabric.mismatch"));
}

TEST_CASE("stamps of UTC") {
  CHECK(utc_text(kNoon) == "2025-11-30T12:00:00Z");
  CHECK(utc_seconds("2025-11-30T12:00:00Z") == kNoon);
  for (const char* text : {"", "noon", "2025-11-30T12:00:00Z ", "2025-11-30"}) CHECK_FALSE(utc_seconds(text));
}
