#include "src/commands/state_folder.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>

#include "src/base/file.h"
#include "src/commands/exit_status.h"

namespace gradsync {

namespace fs = std::filesystem;

std::vector<fs::path> state_folders() {
  std::vector<fs::path> folders;
  const char* state = std::getenv("XDG_STATE_HOME");
  if (state != nullptr && *state == '/') folders.push_back(fs::path(state) / "gradsync-doctor");
  const char* home = std::getenv("HOME");
  if (home != nullptr && *home == '/') folders.push_back(fs::path(home) / ".local" / "state" / "gradsync-doctor");
  return folders;
}

fs::path state_folder() {
  const std::vector<fs::path> folders = state_folders();
  return folders.empty() ? fs::path() : folders.front();
}

Result<void> make_state_folder(const fs::path& folder) {
  std::error_code ignored;
  fs::create_directories(folder.parent_path(), ignored);
  if (::mkdir(folder.c_str(), S_IRWXU) == 0 || (errno == EEXIST && fs::is_directory(folder, ignored))) return {};
  return Error{"cannot make the folder", folder.string(), errno_text(errno), "set XDG_STATE_HOME to one that you own",
               exit_status::kDoctorFailed};
}

}  // namespace gradsync
