#include "src/commands/recording_parts.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <set>

#include "src/base/file.h"
#include "src/base/host_name.h"
#include "src/commands/join_hosts.h"
#include "src/report/json.h"

namespace gradsync {
namespace fs = std::filesystem;

namespace {

// As the writers name their files: <host>-<pid>….
// Also part of file names.
std::string own_host() {
  std::string name = host_name();
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}

// recording.json, or of a recording of several hosts recording@HOST.json.
bool is_head(const std::string& name) {
  return name == "recording.json" || (name.starts_with("recording@") && name.ends_with(".json"));
}

// "node1" of recording@node1.json and nic@node1.json; empty without one.
std::string host_of(const fs::path& file) {
  const std::string stem = file.stem().string();
  const std::size_t at = stem.find('@');
  return at == std::string::npos ? "" : stem.substr(at + 1);
}

std::set<std::string> hosts_in(const fs::path& folder) {
  std::set<std::string> hosts;
  for (const char* part : {"hello", "events"}) {
    std::error_code error;
    for (fs::directory_iterator entry(folder / part, error), end; !error && entry != end; entry.increment(error)) {
      const std::string name = entry->path().stem().string();
      const auto digits = [](const std::string& text) {
        return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
      };
      std::size_t dash = name.rfind('-');
      // hello/<host>-<pid>-<k>.json: a process that exec()s further interpreters.
      if (dash != std::string::npos && dash > 0 && std::string_view(part) == "hello") {
        const std::size_t before = name.rfind('-', dash - 1);
        if (before != std::string::npos && digits(name.substr(before + 1, dash - before - 1)) &&
            digits(name.substr(dash + 1)))
          dash = before;
      }
      if (dash != std::string::npos) hosts.insert(name.substr(0, dash));
    }
  }
  return hosts;
}

// Why the folder is not a recording that another host has begun; empty when it is. Two hosts may be at it at once, so
// that its parts need not be there yet.
std::string why_not_joined(const fs::path& folder) {
  struct stat there {};
  if (::lstat(folder.c_str(), &there) != 0 || !S_ISDIR(there.st_mode) || there.st_uid != ::geteuid() ||
      (there.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    return "it exists and is not an empty folder";
  bool recording = false;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (is_head(name)) return "it holds a recording that was finished";
    if (std::find(kRecordingFolders.begin(), kRecordingFolders.end(), name) == kRecordingFolders.end() ||
        entry->is_symlink(error) || !entry->is_directory(error))
      return "it exists and is not an empty folder";
    recording = true;
  }
  if (error || !recording) return "it exists and is not an empty folder";
  if (hosts_in(folder).contains(own_host())) return "it holds a recording of this host";
  return {};
}

}  // namespace

Result<void> make_recording_folder(const fs::path& folder) {
  const Result<void> made = make_private_directory(folder);
  if (!made) {
    std::error_code ignored;
    if (!fs::exists(fs::symlink_status(folder, ignored))) return made.error();
    const std::string why = why_not_joined(folder);
    if (!why.empty())
      return Error{made.error().what, folder.string(), why, made.error().hint, made.error().exit_status};
  }
  for (const char* part : kRecordingFolders) {
    if (::mkdir((folder / part).c_str(), S_IRWXU) == 0) continue;
    const int error = errno;
    std::error_code ignored;
    if (error != EEXIST || !fs::is_directory(fs::symlink_status(folder / part, ignored)))
      return Error{"cannot make the folder", (folder / part).string(), errno_text(error),
                   "give another folder with -o DIR", 125};
  }
  return {};
}

std::vector<std::string> hosts_of(const fs::path& folder) {
  const std::set<std::string> hosts = hosts_in(folder);
  return {hosts.begin(), hosts.end()};
}

std::vector<std::string> other_hosts(const fs::path& folder) {
  std::set<std::string> hosts = hosts_in(folder);
  hosts.erase(own_host());
  return {hosts.begin(), hosts.end()};
}

// Beside other hosts each has files of its own: whoever ends last would write over the others' otherwise.
Result<void> write_recording_parts(const fs::path& folder, const Report& parts) {
  const std::string ending = (other_hosts(folder).empty() ? "" : "@" + own_host()) + ".json";
  Report head = parts;
  head.series.clear();
  if (const Result<void> written = write_file(folder / ("recording" + ending), report_to_json(head)); !written)
    return written.error();
  for (const auto& [name, series] : parts.series) {
    Report one;
    one.tool = parts.tool;
    one.command = "series";
    one.series[name] = series;
    if (const Result<void> written = write_file(folder / "series" / (name + ending), report_to_json(one)); !written)
      return written.error();
  }
  return {};
}

namespace {

Result<Report> read_report_file(const fs::path& path) {
  const Result<std::string> bytes = read_file(path);
  if (!bytes) return bytes.error();
  return report_from_json(*bytes, path.string());
}

Coverage unreadable(const std::string& what, const Error& error) {
  return {what, "", CoverageState::partial, error.message(), error.hint, 0};
}

std::vector<fs::path> sorted_files(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

Report read_recording_parts(const fs::path& folder) {
  std::map<std::string, Report> by_host;
  std::vector<Coverage> broken;
  std::vector<fs::path> heads;
  for (const fs::path& file : sorted_files(folder))
    if (is_head(file.filename().string())) heads.push_back(file);
  if (heads.empty()) heads.push_back(folder / "recording.json");  // and its error says so
  for (const fs::path& file : heads) {
    if (Result<Report> head = read_report_file(file))
      by_host[host_of(file)] = std::move(*head);
    else
      broken.push_back(unreadable(file.filename().string(), head.error()));
  }
  for (const fs::path& file : sorted_files(folder / "series")) {
    if (Result<Report> one = read_report_file(file))
      by_host[host_of(file)].series.merge(one->series);
    else
      broken.push_back(unreadable("series " + file.filename().string(), one.error()));
  }
  std::vector<HostParts> hosts;
  for (auto& [host, parts] : by_host) hosts.push_back({host, std::move(parts)});
  Report all = join_hosts(std::move(hosts));
  all.coverage.insert(all.coverage.end(), broken.begin(), broken.end());
  return all;
}

}  // namespace gradsync
