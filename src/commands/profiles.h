// Profiles: what a sweep or a bench measured here, kept for later runs in $XDG_STATE_HOME/gradsync-doctor/profiles, else
// below ~/.local/state. A profile is a report document (schema/report.schema.json) without findings: run, facts, and the
// series fabric_fit and load_profiles; so the report of a sweep can be used as one. One file for each set of hosts,
// interface, backend, ranks and versions: what is measured again there replaces what was measured before, one operation
// of one type at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/result.h"
#include "src/model/inputs.h"

namespace gradsync {

struct Profile {
  std::vector<std::string> hosts;  // sorted
  std::string interface_name;      // empty: the backend chose, or it is about loads
  std::string backend;             // empty: about loads alone
  int ranks = 0;
  std::map<std::string, std::string> versions;
  // An operation, all_reduce.half of another type than float, or loads → seconds since 1970.
  std::map<std::string, std::int64_t> measured_at;
  std::optional<FabricFit> fabric;
  std::vector<LoadProfile> loads;

  std::int64_t newest() const;  // of measured_at; 0: not known
};

// What a job is known to run on. What is empty or 0 is not known and fits everything.
struct ProfileQuery {
  std::vector<std::string> hosts;  // sorted
  std::string interface_name, backend;
  int ranks = 0;
  std::map<std::string, std::string> versions;
};

// Names what does not fit, "measured with 4 ranks, this job has 2"; empty where all does. Pure.
std::string why_not(const Profile& profile, const ProfileQuery& query);

// 16 hexadecimal digits of hosts, interface, backend, ranks and versions. Pure.
std::string fingerprint_of(const Profile& profile);

std::string profile_to_json(const Profile& profile);
// `origin` is named in errors. Error: no report document, or one that holds neither a fitted fabric nor loads.
Result<Profile> profile_from_json(std::string_view text, std::string_view origin);
Result<Profile> read_profile(const std::filesystem::path& path);
// Of the report of a sweep or a bench. Nothing where no operation was fitted and no load was measured.
std::optional<Profile> profile_of(const Report& report);

// The file it went to. Error: no home folder, or it cannot be written.
Result<std::filesystem::path> save_profile(const Profile& profile);
// Saves what profile_of() finds, and says on stderr where, or why not: a profile that cannot be kept costs the next run
// something, not this one.
void keep_profile(const Report& report);
// All that can be read in a folder, newest first, without those that an option named (kNamedProfile begins their files).
std::vector<Profile> profiles_in(const std::filesystem::path& folder);
inline constexpr std::string_view kNamedProfile = "named-";
// The same of those that were kept here.
std::vector<Profile> saved_profiles();
// The newest that fits and holds a fabric.
std::optional<Profile> find_profile(const ProfileQuery& query);
// Reference loads of the newest profile of these hosts that holds some.
std::vector<LoadProfile> saved_loads(const std::vector<std::string>& hosts);

// "2026-11-29T20:14:05Z" and back; nothing for another text.
std::string utc_text(std::int64_t seconds);
std::optional<std::int64_t> utc_seconds(const std::string& text);

}  // namespace gradsync
