// Which saved measurements of this fabric a report may use, and how that is said in it.
//
//   run       copies those of these hosts into the recording's profiles/, or the ones that --fabric and --loads name
//   examine   chooses among them, so that the recording alone gives the same report anywhere
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "src/base/result.h"
#include "src/commands/profiles.h"
#include "src/model/inputs.h"
#include "src/timeline/rank_timeline.h"

namespace CLI {
class App;
}

namespace gradsync {

// --fabric F, --loads F
struct ProfileOptions {
  std::string fabric, loads;
};
void declare_profiles(CLI::App& app, ProfileOptions& options);

struct ProfileChoice {
  std::optional<Profile> fabric, loads;
};
// Errors: cannot be read, is no profile, holds no fabric (no loads).
Result<ProfileChoice> named_profiles(const ProfileOptions& options);

// Into RECORDING/profiles. What cannot be written is coverage: the report does without.
void keep_profiles(const std::filesystem::path& recording, const ProfileChoice& named,
                   const std::vector<std::string>& hosts, std::vector<Coverage>& coverage);

// Of those in RECORDING/profiles: named ones, else the newest that fits the job. The fact fabric.profile, or coverage
// that says why there is none.
void choose_profiles(const std::filesystem::path& recording, const std::vector<RankTimeline>& ranks, Inputs& inputs);

// Takes named ones, whatever they were measured on; what does not fit is said.
void lay_profiles(const ProfileChoice& named, const std::vector<RankTimeline>& ranks, Inputs& inputs);

}  // namespace gradsync
