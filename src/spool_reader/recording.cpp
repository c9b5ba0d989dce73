#include "src/spool_reader/recording.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <tuple>

#include "src/base/file.h"
#include "src/spool_reader/spool_file.h"

namespace gradsync {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

std::vector<fs::path> files_in(const fs::path& folder, std::string_view extension) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
    if (entry.path().extension() == extension && !entry.is_symlink(error)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

std::int64_t number_or(const Json& object, const char* key, std::int64_t otherwise) {
  const auto found = object.find(key);
  if (found == object.end()) return otherwise;
  if (found->is_number_integer()) return found->get<std::int64_t>();
  if (!found->is_string()) return otherwise;
  const std::string& text = found->get_ref<const std::string&>();
  std::int64_t number = otherwise;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::string text_or_empty(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string{};
}

// <host>-<pid>[-<k>].<extension>: the host may hold dashes itself.
bool split_name(const fs::path& file, int trailing_numbers, std::string& host, std::int64_t& pid) {
  std::string stem = file.stem().string();
  for (int i = 0; i < trailing_numbers; ++i) {
    const std::size_t dash = stem.rfind('-');
    if (dash == std::string::npos) return false;
    const std::string number = stem.substr(dash + 1);
    const auto parsed = std::from_chars(number.data(), number.data() + number.size(), pid);
    if (parsed.ec != std::errc{} || parsed.ptr != number.data() + number.size()) return false;
    stem.resize(dash);
  }
  host = stem;
  return true;
}

std::vector<Hello> read_hellos(const fs::path& folder) {
  std::vector<Hello> hellos;
  for (const fs::path& file : files_in(folder, ".json")) {
    const Result<std::string> bytes = read_file(file, std::size_t{1} << 20);
    if (!bytes) continue;
    const Json json = Json::parse(*bytes, nullptr, /*allow_exceptions=*/false);
    if (!json.is_object()) continue;
    Hello hello;
    split_name(file, 1, hello.host, hello.pid);
    hello.pid = number_or(json, "pid", hello.pid);
    hello.parent_pid = number_or(json, "ppid", 0);
    hello.executable = text_or_empty(json, "executable");
    hello.python = text_or_empty(json, "python");
    hello.rank = static_cast<int>(number_or(json, "rank", -1));
    hello.world_size = static_cast<int>(number_or(json, "world_size", -1));
    if (const auto arguments = json.find("argv"); arguments != json.end() && arguments->is_array())
      for (const Json& argument : *arguments)
        if (argument.is_string()) hello.arguments.push_back(argument.get<std::string>());
    hellos.push_back(std::move(hello));
  }
  std::sort(hellos.begin(), hellos.end(),
            [](const Hello& a, const Hello& b) { return std::tie(a.host, a.pid) < std::tie(b.host, b.pid); });
  return hellos;
}

}  // namespace

bool is_recording(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error) &&
         (fs::is_directory(path / "events", error) || fs::exists(path / "recording.json", error));
}

Result<RecordingFolder> open_recording_folder(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path, error)) return Error{"cannot open recording", path.string(), "it does not exist", "", 3};
  if (!is_recording(path))
    return Error{"cannot open recording", path.string(), "no events folder and no recording.json in it",
                 "name the folder that `gradsync-doctor run -o` wrote", 3};
  RecordingFolder folder;
  folder.path = path;
  folder.spools = files_in(path / "events", ".spool");
  folder.hellos = read_hellos(path / "hello");
  for (const fs::path& file : files_in(path / "windows", ".json")) {
    WindowFile window;
    window.path = file;
    if (split_name(file, 2, window.host, window.pid)) folder.windows.push_back(std::move(window));
  }
  return folder;
}

std::vector<Coverage> read_spools(const RecordingFolder& folder, EventSink& sink) {
  std::vector<Coverage> coverage;
  for (const fs::path& file : folder.spools) {
    const Result<SpoolStats> stats = read_spool(file, sink);
    Coverage entry;
    entry.source = "spool " + file.filename().string();
    if (!stats) {
      entry.state = CoverageState::unavailable;
      entry.reason = stats.error().message();
      entry.hint = stats.error().hint;
      coverage.push_back(entry);
    } else if (stats->unknown_kinds > 0) {
      entry.state = CoverageState::partial;
      entry.reason = std::to_string(stats->unknown_kinds) + " records of kinds this version does not know";
      coverage.push_back(entry);
    }
  }
  return coverage;
}

}  // namespace gradsync
