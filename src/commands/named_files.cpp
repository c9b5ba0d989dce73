#include "src/commands/named_files.h"

#include <glob.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "collectors/import/recognise.h"
#include "src/commands/exit_status.h"

namespace gradsync {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostFiles = 4096;  // looked at in one folder
constexpr int kDeepest = 4;               // folders below the one that was named

// By name, with numbers in the order of their value: rank2 before rank10.
bool before(const fs::path& a, const fs::path& b) { return strverscmp(a.c_str(), b.c_str()) < 0; }

struct FolderContent {
  std::vector<fs::path> files, recordings;
  std::size_t unknown = 0;
  bool whole = true;  // not more files than are looked at
};

FolderContent look_into(const fs::path& folder) {
  FolderContent content;
  std::error_code error;
  fs::recursive_directory_iterator next(folder, fs::directory_options::skip_permission_denied, error), end;
  std::size_t seen = 0;
  for (; !error && next != end && seen < kMostFiles; next.increment(error), ++seen) {
    const fs::directory_entry& entry = *next;
    if (entry.is_directory(error)) {
      const bool begun =
          fs::exists(entry.path() / "recording.json", error) || fs::is_directory(entry.path() / "hello", error);
      if (begun && fs::is_directory(entry.path() / "events", error)) {
        content.recordings.push_back(entry.path());
        next.disable_recursion_pending();
      } else if (next.depth() >= kDeepest) {
        next.disable_recursion_pending();
      }
      continue;
    }
    if (!entry.is_regular_file(error)) continue;
    const Result<Recognised> kind = recognise(entry.path());
    if (kind && kind->kind == FileKind::importable)
      content.files.push_back(entry.path());
    else
      ++content.unknown;
  }
  content.whole = seen < kMostFiles;
  std::sort(content.files.begin(), content.files.end(), before);
  return content;
}

std::vector<std::string> matches_of(const std::string& pattern) {
  std::vector<std::string> found;
  glob_t matches{};
  if (glob(pattern.c_str(), 0, nullptr, &matches) == 0)
    for (std::size_t i = 0; i < matches.gl_pathc; ++i) found.emplace_back(matches.gl_pathv[i]);
  globfree(&matches);
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return before(a, b); });
  return found;
}

class Names {
 public:
  Result<void> add(const std::string& argument) {
    std::error_code error;
    if (!fs::exists(argument, error) && argument.find_first_of("*?[") != std::string::npos) {
      const std::vector<std::string> found = matches_of(argument);
      if (found.empty()) return Error{"no file matches", argument, "", "", exit_status::kNothingUsable};
      for (const std::string& path : found)
        if (Result<void> added = add_path(path); !added) return added;
      return {};
    }
    return add_path(argument);
  }

  NamedFiles take() { return std::move(named_); }

 private:
  Result<void> add_path(const fs::path& path) {
    const Result<Recognised> kind = recognise(path);
    if (!kind) return kind.error();
    if (kind->kind == FileKind::recording) {
      named_.recordings.push_back(path);
      return {};
    }
    if (kind->kind != FileKind::folder) {
      add_file(path);  // of whatever kind: whoever reads it says why it cannot be used
      return {};
    }
    const FolderContent content = look_into(path);
    if (content.files.empty() && content.recordings.empty()) return refusal(FileKind::folder, path);
    for (const fs::path& file : content.files) add_file(file);
    named_.recordings.insert(named_.recordings.end(), content.recordings.begin(), content.recordings.end());
    if (content.unknown > 0 || !content.whole)
      named_.left_out.push_back(
          {"folder " + path.string(), "", CoverageState::partial,
           std::to_string(content.unknown) + " files in it are of no kind that is read" +
               (content.whole ? "" : "; only its first " + std::to_string(kMostFiles) + " entries were looked at"),
           "", 0});
    return {};
  }

  void add_file(const fs::path& path) {
    std::error_code error;
    const fs::path once = fs::canonical(path, error);
    if (seen_.insert(error ? path : once).second) named_.files.push_back(path);
  }

  NamedFiles named_;
  std::set<fs::path> seen_;
};

}  // namespace

Result<NamedFiles> name_files(const std::vector<std::string>& arguments) {
  Names names;
  for (const std::string& argument : arguments)
    if (const Result<void> added = names.add(argument); !added) return added.error();
  return names.take();
}

}  // namespace gradsync
