// Plug-ins: libraries of this program that it opens only when they are asked for, because what they link is slow to
// start or missing on many machines. Each exports, by C names,
//
//   const char* gsd_plugin_version()   version of the program it was built with; others are refused
//   …           one function that gives what the plug-in is for: the header of its interface names it
//
// and is never closed: it may have threads.
#pragma once

#include <filesystem>
#include <string>

#include "src/base/result.h"

namespace gradsync {

inline constexpr const char* kPluginVersionName = "gsd_plugin_version";

// Opens `library` and finds the function `entry`. `package`: what to install when it is not there. Error: not there, not
// loadable, no plug-in, of another version.
Result<void*> open_plugin(const std::filesystem::path& library, const std::string& package, const std::string& entry);

}  // namespace gradsync
