// Where the recording of a run goes: -o, else below the user's state folder, else below the temporary folder.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "src/model/report.h"

namespace gradsync {

// Where the working directory is gone, the path itself. Of a link "folder/" the link.
std::filesystem::path absolute_or_same(const std::filesystem::path& path);

// As it is written from the working directory; where that is gone, the path itself.
std::filesystem::path proximate_or_same(const std::filesystem::path& path);

// Makes a recording's folder; `wanted` is the user's, or empty. What cannot be made is told on stderr and in `coverage`.
// Empty: nowhere; the training goes on without a recording.
std::filesystem::path make_run_folder(const std::string& wanted, std::vector<Coverage>& coverage);

// Of a job that could not be started: what this process wrote, and the folders where nobody else wrote into them.
void remove_empty_recording(const std::filesystem::path& folder);

// On stderr: who else records into this folder, and what to do when all have ended.
void tell_of_other_hosts(const std::filesystem::path& folder);

}  // namespace gradsync
