#include "collectors/host/job_tree.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "src/base/file.h"
#include "src/base/text.h"
#include "src/hosttext/numbers.h"

namespace gradsync {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostProcesses = 65536;

// Field 4 of /proc/PID/stat; the name before it may hold anything.
std::int64_t parent_of(const fs::path& process) {
  const Result<std::string> stat = read_file(process / "stat", 4096);
  const std::size_t after_name = stat ? stat->rfind(')') : std::string::npos;
  if (after_name == std::string::npos) return -1;
  const std::vector<std::string_view> words = split_words(std::string_view(*stat).substr(after_name + 1));
  return words.size() < 2 ? -1 : static_cast<std::int64_t>(parse_unsigned(words[1]).value_or(0));
}

bool add_children(const fs::path& proc, std::int64_t pid, std::set<std::int64_t>& found) {
  const fs::path tasks = proc / std::to_string(pid) / "task";
  bool known = false;
  for (const std::int64_t tid : numbered_folders(tasks)) {
    const Result<std::string> children = read_file(tasks / std::to_string(tid) / "children", 1 << 20);
    known |= static_cast<bool>(children);
    if (!children) continue;
    for (const std::string_view word : split_words(*children)) {
      const auto child = parse_unsigned(word);
      if (!child || found.size() >= kMostProcesses || !found.insert(static_cast<std::int64_t>(*child)).second) continue;
      add_children(proc, static_cast<std::int64_t>(*child), found);
    }
  }
  return known;
}

}  // namespace

std::vector<std::int64_t> numbered_folders(const fs::path& folder) {
  std::vector<std::int64_t> numbers;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error))
    if (const auto number = parse_unsigned(entry->path().filename().string()))
      numbers.push_back(static_cast<std::int64_t>(*number));
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

bool descends_from(const fs::path& proc, std::int64_t pid, std::int64_t ancestor) {
  for (int depth = 0; depth < 64 && pid > 0; ++depth) {
    if (pid == ancestor) return true;
    pid = parent_of(proc / std::to_string(pid));
  }
  return false;
}

std::vector<std::int64_t> descendants(const fs::path& proc, std::int64_t ancestor) {
  std::set<std::int64_t> found;
  if (!add_children(proc, ancestor, found)) {
    std::map<std::int64_t, std::int64_t> parents;
    for (const std::int64_t pid : numbered_folders(proc)) parents[pid] = parent_of(proc / std::to_string(pid));
    for (const auto& [pid, parent] : parents) {
      std::int64_t above = parent;
      for (int depth = 0; depth < 64 && above > 0 && above != ancestor; ++depth)
        above = parents.contains(above) ? parents[above] : -1;
      if (above == ancestor && pid != ancestor) found.insert(pid);
    }
  }
  found.erase(ancestor);
  return {found.begin(), found.end()};
}

}  // namespace gradsync
