#include "src/commands/run_folder.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "src/commands/recording_parts.h"
#include "src/commands/state_folder.h"

namespace gradsync {
namespace {

namespace fs = std::filesystem;

std::string recording_name() {
  const std::time_t now = std::time(nullptr);
  char stamp[32];
  std::tm local{};
  std::strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", ::localtime_r(&now, &local));
  return std::string(stamp) + "-" + std::to_string(::getpid());
}

// "recordings" in the state folders, else the temporary folder.
std::vector<fs::path> default_homes() {
  std::vector<fs::path> homes = state_folders();
  for (fs::path& home : homes) home /= "recordings";
  const char* temporary = std::getenv("TMPDIR");
  homes.emplace_back(temporary != nullptr && *temporary == '/' ? temporary : "/tmp");
  return homes;
}

bool is_made(const fs::path& folder, std::vector<Coverage>& coverage) {
  const Result<void> made = folder.is_absolute() ? make_recording_folder(folder)
                                                 : Error{"cannot make the folder", folder.string(),
                                                         "the working directory is gone", "give -o /DIR"};
  if (made) return true;
  std::fprintf(stderr, "gradsync-doctor: %s\n", made.error().message().c_str());
  coverage.push_back({"recording folder", "", CoverageState::partial, made.error().message(), made.error().hint, 0});
  return false;
}

}  // namespace

fs::path absolute_or_same(const fs::path& path) {
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error).lexically_normal();
  if (error) return path;
  return absolute.has_filename() ? absolute : absolute.parent_path();
}

fs::path proximate_or_same(const fs::path& path) {
  std::error_code error;
  const fs::path here = fs::current_path(error);  // proximate() asks for it itself, and throws
  const fs::path proximate = error ? path : fs::proximate(path, here, error);
  return error ? path : proximate;
}

fs::path make_run_folder(const std::string& wanted, std::vector<Coverage>& coverage) {
  if (!wanted.empty())
    if (fs::path folder = absolute_or_same(wanted); is_made(folder, coverage)) return folder;
  for (const fs::path& home : default_homes()) {
    std::error_code ignored;
    fs::create_directories(home, ignored);
    if (fs::path folder = home / ("gradsync-" + recording_name()); is_made(folder, coverage)) return folder;
  }
  coverage.push_back({"recording", "", CoverageState::unavailable, "no folder could be written", "give -o DIR", 0});
  return {};
}

void remove_empty_recording(const fs::path& folder) {
  if (folder.empty()) return;
  std::error_code ignored;
  const std::string own = "-" + std::to_string(::getpid()) + ".spool";  // what the collectors saw of nothing
  for (fs::directory_iterator file(folder / "events", ignored); !ignored && file != fs::directory_iterator();
       file.increment(ignored))
    if (file->path().filename().string().ends_with(own)) fs::remove(file->path(), ignored);
  for (const char* part : kRecordingFolders) fs::remove(folder / part, ignored);
  fs::remove(folder, ignored);
}

// They may be a little behind: what they write from now on is not in this report.
void tell_of_other_hosts(const fs::path& folder) {
  if (folder.empty()) return;
  const std::vector<std::string> hosts = other_hosts(folder);
  if (hosts.empty()) return;
  std::fprintf(stderr,
               "gradsync-doctor: %zu other host(s) record into this folder; when all have ended:\n"
               "  gradsync-doctor analyze %s\n",
               hosts.size(), folder.c_str());
}

}  // namespace gradsync
