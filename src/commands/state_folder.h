// Where this user's doctor keeps what it learnt: $XDG_STATE_HOME/gradsync-doctor, else ~/.local/state/gradsync-doctor.
#pragma once

#include <filesystem>
#include <vector>

#include "src/base/result.h"

namespace gradsync {

// All of these that the environment names, the first choice first.
std::vector<std::filesystem::path> state_folders();

// The first; empty where there is no home.
std::filesystem::path state_folder();

// Makes `folder` (mode 0700) and what is above it. Error: cannot be made.
Result<void> make_state_folder(const std::filesystem::path& folder);

}  // namespace gradsync
