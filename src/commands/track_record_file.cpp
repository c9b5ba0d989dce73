// The file behind the record: read whole, written whole under a lock, so that it stays bounded and no line is torn.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

#include "src/base/file.h"
#include "src/commands/exit_status.h"
#include "src/commands/output.h"
#include "src/commands/state_folder.h"
#include "src/commands/track_record.h"

namespace gradsync {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostLines = 1000, kMostBytes = std::size_t{16} << 20;
constexpr int kTries = 50, kBetweenTries_us = 100'000;

fs::path record_path() {
  const fs::path state = state_folder();
  return state.empty() ? state : state / "calibration.jsonl";
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// Its bytes; none where there is no file yet.
Result<std::string> read_if_there(const fs::path& path) {
  if (::access(path.c_str(), F_OK) != 0 && errno == ENOENT) return std::string();
  return read_file(path, kMostBytes);
}

// Closing the file lets go of it.
Result<FileDescriptor> lock(const fs::path& path) {
  FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!file) return Error{"cannot lock", path.string(), errno_text(errno), "", exit_status::kDoctorFailed};
  for (int i = 0; i < kTries; ++i) {
    if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0) return file;
    if (errno != EWOULDBLOCK && errno != EINTR) break;
    ::usleep(kBetweenTries_us);
  }
  return Error{"cannot lock", path.string(), errno_text(errno), "", exit_status::kDoctorFailed};
}

}  // namespace

TrackRecord read_track_record() {
  TrackRecord record;
  const fs::path path = record_path();
  if (path.empty()) return record;
  const Result<std::string> text = read_if_there(path);
  if (!text) {
    record.problem = text.error().message();
    return record;
  }
  for (const std::string_view line : lines_of(*text)) {
    if (std::optional<TriedChange> change = from_line(line))
      record.changes.push_back(std::move(*change));
    else
      ++record.unreadable;
  }
  return record;
}

Result<void> append_track_record(const TriedChange& change) {
  const fs::path path = record_path();
  if (path.empty())
    return Error{"cannot keep what was predicted and measured", "", "neither XDG_STATE_HOME nor HOME names a folder",
                 "", exit_status::kDoctorFailed};
  if (const Result<void> made = make_state_folder(path.parent_path()); !made) return made.error();
  const Result<FileDescriptor> held = lock(path.string() + ".lock");
  if (!held) return held.error();
  const Result<std::string> before = read_if_there(path);
  if (!before) return before.error();
  const std::vector<std::string_view> lines = lines_of(*before);
  std::string text;
  for (std::size_t i = lines.size() >= kMostLines ? lines.size() - kMostLines + 1 : 0; i < lines.size(); ++i)
    text.append(lines[i]).append("\n");
  return write_file(path, text + to_line(change) + "\n");
}

void keep_track_record(const Report& report) {
  const std::optional<TriedChange> change = tried_change(report, std::time(nullptr));
  if (!change) return;
  if (const Result<void> kept = keep_track_record(*change); !kept) print_error(kept.error());
}

Result<void> keep_track_record(const TriedChange& change) {
  Result<void> kept = append_track_record(change);
  if (kept) fmt::print(stderr, "gradsync-doctor: predicted and measured are kept in {}\n", record_path().string());
  return kept;
}

}  // namespace gradsync
