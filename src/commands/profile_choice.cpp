#include "src/commands/profile_choice.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <set>

#include "src/base/file.h"
#include "src/base/text.h"
#include "src/base/units.h"
#include "src/commands/exit_status.h"

namespace gradsync {
namespace {

namespace fs = std::filesystem;

constexpr const char *kNamedFabric = "named-fabric.json", *kNamedLoads = "named-loads.json";
constexpr std::size_t kMostKept = 16;

// "gloo"; of PyTorch's "cpu:gloo,cuda:nccl" the one for the job's device.
std::string backend_of(const RankTimeline& rank) {
  std::string backend = rank.fact("backend");
  if (backend.find(':') == std::string::npos) return backend;
  const std::string wanted = (rank.fact("device") == "cuda" ? "cuda" : "cpu") + std::string(":");
  const std::size_t at = backend.find(wanted);
  if (at == std::string::npos) return backend;
  const std::size_t from = at + wanted.size();
  return backend.substr(from, backend.find(',', from) - from);
}

ProfileQuery query_of(const std::vector<RankTimeline>& ranks) {
  ProfileQuery query;
  std::set<std::string> hosts;
  for (const RankTimeline& rank : ranks)
    if (!rank.process.host.empty()) hosts.insert(rank.process.host);
  query.hosts.assign(hosts.begin(), hosts.end());
  query.ranks = static_cast<int>(ranks.size());
  if (ranks.empty()) return query;
  query.backend = backend_of(ranks.front());
  if (query.backend == "gloo") query.interface_name = ranks.front().fact("gloo.interface");
  for (const char* part : {"nccl", "gloo"})
    if (const std::string version = ranks.front().fact(part); !version.empty()) query.versions[part] = version;
  return query;
}

// Seconds since 1970; 0: no rank told its clock.
std::int64_t began_at(const std::vector<RankTimeline>& ranks) {
  Nanoseconds first = 0;
  for (const RankTimeline& rank : ranks)
    if (rank.process.realtime > 0 && (first == 0 || rank.process.realtime < first)) first = rank.process.realtime;
  return first / 1'000'000'000;
}

std::string told(const Profile& profile, std::int64_t began) {
  std::string text = profile.backend + ", " + std::to_string(profile.ranks) + " ranks on " + join(profile.hosts, ", ");
  if (!profile.interface_name.empty()) text += " over " + profile.interface_name;
  const std::int64_t measured = profile.newest();
  if (measured == 0) return text + ", it does not say when";
  text += ", measured " + utc_text(measured);
  if (began > measured) text += ", " + format_seconds(static_cast<double>(began - measured)) + " before the job";
  return text;
}

void take_fabric(const Profile& profile, const std::vector<RankTimeline>& ranks, Inputs& inputs) {
  inputs.fabric = profile.fabric;
  inputs.facts["fabric.profile"] = told(profile, began_at(ranks));
}

std::string sweep_command(const ProfileQuery& query) {
  const std::string backend = query.backend.empty() ? "" : " --backend " + query.backend;
  if (query.hosts.size() > 1) return "the job's own launcher, in place of the script: gradsync-doctor sweep" + backend;
  return "gradsync-doctor sweep --ranks " + std::to_string(query.ranks) + backend;
}

Result<std::optional<Profile>> named_profile(const std::string& path, const char* option) {
  if (path.empty()) return std::optional<Profile>{};
  Result<Profile> profile = read_profile(path);
  if (profile) return std::optional<Profile>(std::move(*profile));
  Error error = profile.error();
  error.what = std::string(option) + ": " + error.what;
  return error;
}

}  // namespace

void declare_profiles(CLI::App& app, ProfileOptions& options) {
  app.add_option("--fabric", options.fabric, "what sweep measured: its profile or its report (JSON)")
      ->type_name("FILE");
  app.add_option("--loads", options.loads, "what bench measured of reference compressors (JSON)")->type_name("FILE");
}

Result<ProfileChoice> named_profiles(const ProfileOptions& options) {
  Result<std::optional<Profile>> fabric = named_profile(options.fabric, "--fabric");
  if (!fabric) return fabric.error();
  Result<std::optional<Profile>> loads = named_profile(options.loads, "--loads");
  if (!loads) return loads.error();
  if (*fabric && !(*fabric)->fabric)
    return Error{"--fabric: no fitted fabric in", options.fabric, "it holds reference loads alone", "--loads FILE",
                 exit_status::kNothingUsable};
  if (*loads && (*loads)->loads.empty())
    return Error{"--loads: no reference loads in", options.loads, "it holds a fabric alone", "--fabric FILE",
                 exit_status::kNothingUsable};
  return ProfileChoice{std::move(*fabric), std::move(*loads)};
}

void keep_profiles(const fs::path& recording, const ProfileChoice& named, const std::vector<std::string>& hosts,
                   std::vector<Coverage>& coverage) {
  std::vector<std::pair<std::string, Profile>> kept;
  if (named.fabric) kept.emplace_back(kNamedFabric, *named.fabric);
  if (named.loads) kept.emplace_back(kNamedLoads, *named.loads);
  for (const Profile& profile : saved_profiles())
    if (profile.hosts == hosts && kept.size() < kMostKept)
      kept.emplace_back(fingerprint_of(profile) + ".json", profile);
  for (const auto& [name, profile] : kept)
    if (const Result<void> written = write_file(recording / "profiles" / name, profile_to_json(profile)); !written)
      coverage.push_back({"fabric profile", "", CoverageState::partial, written.error().message(), "", 0});
}

void lay_profiles(const ProfileChoice& named, const std::vector<RankTimeline>& ranks, Inputs& inputs) {
  if (named.loads) inputs.loads = named.loads->loads;
  if (!named.fabric) return;
  take_fabric(*named.fabric, ranks, inputs);
  if (ranks.empty()) return;
  const std::string mismatch = why_not(*named.fabric, query_of(ranks));
  inputs.facts["fabric.mismatches"] = mismatch.empty() ? "no" : "yes";
  if (!mismatch.empty()) inputs.facts["fabric.mismatch"] = mismatch;
  if (!mismatch.empty())
    inputs.coverage.push_back(
        {"fabric profile", "", CoverageState::partial, mismatch, sweep_command(query_of(ranks)), 0});
}

void choose_profiles(const fs::path& recording, const std::vector<RankTimeline>& ranks, Inputs& inputs) {
  const fs::path folder = recording / "profiles";
  ProfileChoice named;
  if (Result<Profile> fabric = read_profile(folder / kNamedFabric)) named.fabric = std::move(*fabric);
  if (Result<Profile> loads = read_profile(folder / kNamedLoads)) named.loads = std::move(*loads);
  lay_profiles(named, ranks, inputs);
  const std::vector<Profile> kept = profiles_in(folder);
  if (!named.loads)
    for (const Profile& profile : kept)
      if (inputs.loads.empty()) inputs.loads = profile.loads;
  if (named.fabric || ranks.size() < 2) return;
  const ProfileQuery query = query_of(ranks);
  std::string why = "no sweep of this fabric is saved";
  for (const Profile& profile : kept) {
    if (!profile.fabric) continue;
    const std::string mismatch = why_not(profile, query);
    if (mismatch.empty()) return take_fabric(profile, ranks, inputs);
    if (why.starts_with("no sweep")) why = "none that is saved fits: " + mismatch;
  }
  // Recordings of doctors that did not look for profiles say nothing of them.
  if (inputs.facts.contains("option.fabric"))
    inputs.coverage.push_back({"fabric profile", "", CoverageState::unavailable, why, sweep_command(query), 0});
}

}  // namespace gradsync
