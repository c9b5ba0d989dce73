#include "src/commands/profiles.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "analyzers/fabric_cost.h"
#include "src/base/file.h"
#include "src/base/text.h"
#include "src/commands/exit_status.h"
#include "src/commands/output.h"
#include "src/commands/state_folder.h"

namespace gradsync {
namespace {

namespace fs = std::filesystem;

// Empty where there is no home.
fs::path profiles_folder() {
  const fs::path state = state_folder();
  return state.empty() ? state : state / "profiles";
}

// FNV-1a: names a file, nothing depends on its strength.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

// What was measured before and is not measured anew stays.
void carry_over(const Profile& old, Profile& profile) {
  if (old.fabric) {
    if (!profile.fabric) profile.fabric = FabricFit{old.fabric->fingerprint, profile.backend, profile.ranks, {}};
    for (const auto& [type, operations] : old.fabric->types)
      profile.fabric->types[type].insert(operations.begin(), operations.end());
    choose_curves(*profile.fabric);
  }
  for (const LoadProfile& load : old.loads) {
    const auto same = [&](const LoadProfile& other) {
      return other.algorithm == load.algorithm && other.device == load.device && other.elements == load.elements;
    };
    if (std::none_of(profile.loads.begin(), profile.loads.end(), same)) profile.loads.push_back(load);
  }
  profile.measured_at.insert(old.measured_at.begin(), old.measured_at.end());
}

std::string versus(const std::string& measured, const std::string& job) {
  return "measured " + measured + ", this job " + job;
}

}  // namespace

std::int64_t Profile::newest() const {
  std::int64_t newest = 0;
  for (const auto& [part, seconds] : measured_at) newest = std::max(newest, seconds);
  return newest;
}

std::string why_not(const Profile& profile, const ProfileQuery& query) {
  if (!query.hosts.empty() && profile.hosts != query.hosts)
    return versus("on " + join(profile.hosts, ", "), "runs on " + join(query.hosts, ", "));
  if (!query.backend.empty() && profile.backend != query.backend)
    return versus("with " + (profile.backend.empty() ? "no backend" : profile.backend), "uses " + query.backend);
  if (query.ranks > 0 && profile.ranks != query.ranks)
    return versus("with " + std::to_string(profile.ranks) + " ranks", "has " + std::to_string(query.ranks));
  if (!query.interface_name.empty() && !profile.interface_name.empty() &&
      profile.interface_name != query.interface_name)
    return versus("over " + profile.interface_name, "uses " + query.interface_name);
  for (const auto& [name, version] : query.versions)
    if (const auto own = profile.versions.find(name); own != profile.versions.end() && own->second != version)
      return versus("with " + name + " " + own->second, "has " + version);
  return "";
}

std::string fingerprint_of(const Profile& profile) {
  std::string text = join(profile.hosts, ",") + "\n" + profile.interface_name + "\n" + profile.backend + "\n" +
                     std::to_string(profile.ranks);
  for (const auto& [name, version] : profile.versions) text.append("\n" + name).append(" " + version);
  std::array<char, 24> digits{};
  std::snprintf(digits.data(), digits.size(), "%016llx", static_cast<unsigned long long>(hash_of(text)));
  return digits.data();
}

Result<fs::path> save_profile(const Profile& profile) {
  const fs::path folder = profiles_folder();
  if (folder.empty())
    return Error{"cannot save the profile", "", "neither XDG_STATE_HOME nor HOME names a folder", "",
                 exit_status::kDoctorFailed};
  if (const Result<void> made = make_state_folder(folder); !made) return made.error();
  Profile whole = profile;
  const fs::path path = folder / (fingerprint_of(profile) + ".json");
  if (const Result<Profile> old = read_profile(path)) carry_over(*old, whole);
  if (const Result<void> written = write_file(path, profile_to_json(whole)); !written) return written.error();
  return path;
}

void keep_profile(const Report& report) {
  const std::optional<Profile> profile = profile_of(report);
  if (!profile || profile->hosts.empty()) {
    std::fprintf(stderr, "gradsync-doctor: not kept for later runs: %s\n",
                 profile ? "the names of the hosts are not known" : "nothing was measured closely enough");
    return;
  }
  if (const Result<fs::path> saved = save_profile(*profile))
    std::fprintf(stderr, "gradsync-doctor: kept for later runs: %s\n", saved->c_str());
  else
    print_error(saved.error());
}

std::vector<Profile> profiles_in(const fs::path& folder) {
  std::vector<fs::path> paths;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    if (entry->path().extension() == ".json" && !entry->path().filename().string().starts_with(kNamedProfile))
      paths.push_back(entry->path());
  std::sort(paths.begin(), paths.end());
  std::vector<Profile> profiles;
  for (const fs::path& path : paths)
    if (Result<Profile> profile = read_profile(path)) profiles.push_back(std::move(*profile));
  std::stable_sort(profiles.begin(), profiles.end(),
                   [](const Profile& a, const Profile& b) { return a.newest() > b.newest(); });
  return profiles;
}

std::vector<Profile> saved_profiles() { return profiles_in(profiles_folder()); }

std::optional<Profile> find_profile(const ProfileQuery& query) {
  for (Profile& profile : saved_profiles())
    if (profile.fabric && why_not(profile, query).empty()) return std::move(profile);
  return std::nullopt;
}

std::vector<LoadProfile> saved_loads(const std::vector<std::string>& hosts) {
  for (Profile& profile : saved_profiles())
    if (!profile.loads.empty() && profile.hosts == hosts) return std::move(profile.loads);
  return {};
}

}  // namespace gradsync
