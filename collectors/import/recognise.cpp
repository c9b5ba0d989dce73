#include "collectors/import/recognise.h"

#include <string>
#include <string_view>

#include "collectors/import/byte_source.h"
#include "collectors/import/json_scan.h"
#include "src/base/text.h"

namespace gradsync {
namespace {

constexpr std::size_t kLookBytes = std::size_t{1} << 20;

bool is_archive(std::string_view bytes) {
  using namespace std::string_view_literals;
  for (const std::string_view magic : {"PK\x03\x04"sv,
                                       "\xfd"
                                       "7zXZ\0"sv,
                                       "\x28\xb5\x2f\xfd"sv, "BZh"sv, "7z\xbc\xaf"sv})
    if (bytes.starts_with(magic)) return true;
  return bytes.size() > 262 && bytes.substr(257, 5) == "ustar";
}

// The first element decides whether a bare list is one of events: an object with a phase, or nothing at all.
bool is_event_list(std::string_view elements) {
  elements = trim(elements);
  if (elements.empty() || elements.front() == ']') return true;
  if (elements.front() != '{') return false;
  const Scan first = scan_value(elements);
  return elements.substr(0, first.length).find("\"ph\"") != std::string_view::npos;
}

// The beginning of an object whose list of events is further on (a long distributedInfo), or behind the cut.
bool begins_like_kineto(std::string_view text) {
  for (const std::string_view key : {"\"schemaVersion\"", "\"deviceProperties\"", "\"distributedInfo\""})
    if (text.find(key) != std::string_view::npos) return true;
  return false;
}

FileKind kind_of(std::string_view bytes) {
  if (trim(bytes).empty()) return FileKind::empty;
  if (bytes.starts_with("GSDSPOOL")) return FileKind::spool;
  if (bytes.starts_with("SQLite format 3")) return FileKind::sqlite;
  if (is_archive(bytes)) return FileKind::archive;
  const EventArrayStart start = find_event_array(bytes);
  if (start.state == ArrayStart::found) {
    if (!start.bare || is_event_list(bytes.substr(start.first))) return FileKind::chrome_trace;
    return FileKind::json;
  }
  const bool object = trim(bytes).front() == '{';
  if (object && bytes.find("\"gradsync-doctor\"") != std::string_view::npos) return FileKind::report;
  if (object && begins_like_kineto(bytes) && start.state == ArrayStart::need_more) return FileKind::chrome_trace;
  return object && start.why != "it is not valid JSON" ? FileKind::json : FileKind::unknown;
}

Error refusal(const std::filesystem::path& path, std::string why, std::string hint) {
  return Error{"not a profiler trace", path.string(), std::move(why), std::move(hint), 3};
}

}  // namespace

Result<FileKind> recognise(const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    const bool recording = std::filesystem::exists(path / "recording.json", ignored) ||
                           std::filesystem::is_directory(path / "events", ignored);
    return recording ? FileKind::recording : FileKind::folder;
  }
  Result<ByteSource> source = ByteSource::open(path);
  if (!source) return source.error();
  std::string bytes(kLookBytes, '\0');
  bytes.resize(source->read(bytes.data(), bytes.size()));
  return kind_of(bytes);
}

Result<void> check_chrome_trace(const std::filesystem::path& path) {
  const Result<FileKind> kind = recognise(path);
  if (!kind) return kind.error();
  switch (*kind) {
    case FileKind::chrome_trace:
      return {};
    case FileKind::recording:
      return refusal(path, "it is a recording", "gradsync-doctor analyze reads the folder");
    case FileKind::folder:
      return refusal(path, "it is a folder", "name the trace files in it");
    case FileKind::spool:
      return refusal(path, "it is the spool of one process", "name the recording's folder, two levels up");
    case FileKind::report:
      return refusal(path, "it is a report", "gradsync-doctor show prints it");
    case FileKind::sqlite:
      return refusal(path, "it is an SQLite database (an export of Nsight Systems?)",
                     "export a Chrome trace from torch.profiler instead");
    case FileKind::archive:
      return refusal(path, "it is an archive", "unpack it and name the trace files in it");
    case FileKind::empty:
      return refusal(path, "it is empty", "");
    case FileKind::json:
      return refusal(path, "it is JSON without a list of trace events",
                     "traces come from torch.profiler's export_chrome_trace");
    case FileKind::unknown:
      break;
  }
  return refusal(path, "its content is of no known kind", "traces come from torch.profiler's export_chrome_trace");
}

}  // namespace gradsync
