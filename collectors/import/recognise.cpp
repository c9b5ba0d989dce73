#include "collectors/import/recognise.h"

#include <string>
#include <string_view>

#include "collectors/import/byte_source.h"
#include "collectors/import/json_scan.h"
#include "collectors/import/kineto_format.h"
#include "src/base/text.h"

namespace gradsync {
namespace {

constexpr std::size_t kLookBytes = std::size_t{1} << 20;
constexpr std::size_t kGlanceBytes = std::size_t{1} << 16;

bool is_archive(std::string_view bytes) {
  using namespace std::string_view_literals;
  for (const std::string_view magic : {"PK\x03\x04"sv,
                                       "\xfd"
                                       "7zXZ\0"sv,
                                       "\x28\xb5\x2f\xfd"sv, "BZh"sv, "7z\xbc\xaf"sv})
    if (bytes.starts_with(magic)) return true;
  return bytes.size() > 262 && bytes.substr(257, 5) == "ustar";
}

// The first name in an evidence pack (src/export/pack.h).
bool is_pack_archive(std::string_view bytes) { return is_archive(bytes) && bytes.starts_with("gradsync-pack/"); }

FileKind kind_of_unknown(std::string_view bytes) {
  if (bytes.starts_with("SQLite format 3")) return FileKind::sqlite;
  const EventArrayStart start = find_event_array(bytes);
  if (start.state == ArrayStart::found) return FileKind::json;
  const bool object = trim(bytes).front() == '{';
  if (object && bytes.find("\"gradsync-doctor\"") != std::string_view::npos) return FileKind::report;
  return object && start.why != "it is not valid JSON" ? FileKind::json : FileKind::unknown;
}

Recognised recognise_bytes(std::string_view bytes) {
  if (trim(bytes).empty()) return {FileKind::empty};
  if (bytes.starts_with("GSDSPOOL")) return {FileKind::spool};
  if (is_pack_archive(bytes)) return {FileKind::pack};
  if (is_archive(bytes)) return {FileKind::archive};
  for (const FileFormat& format : file_formats())
    if (format.recognises(bytes)) return {FileKind::importable, &format};
  return {kind_of_unknown(bytes)};
}

}  // namespace

Result<Recognised> recognise(const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    const bool recording = std::filesystem::exists(path / "recording.json", ignored) ||
                           std::filesystem::is_directory(path / "events", ignored);
    return Recognised{recording ? FileKind::recording : FileKind::folder};
  }
  Result<ByteSource> source = ByteSource::open(path);
  if (!source) return source.error();
  std::string bytes(kGlanceBytes, '\0');
  bytes.resize(source->read(bytes.data(), bytes.size()));
  // Traces are large and tell at once; a log may say more further down.
  if (const std::string_view text = trim(bytes); text.starts_with('{') || text.starts_with('['))
    if (const Recognised found = recognise_bytes(bytes); found.kind == FileKind::importable) return found;
  const std::size_t seen = bytes.size();
  if (seen == kGlanceBytes) {
    bytes.resize(kLookBytes);
    bytes.resize(seen + source->read(bytes.data() + seen, bytes.size() - seen));
  }
  return recognise_bytes(bytes);
}

Error refusal(FileKind kind, const std::filesystem::path& path) {
  const auto because = [&](std::string why, std::string hint) {
    return Error{"cannot be analysed", path.string(), std::move(why), std::move(hint), 3};
  };
  const char* const known = "man gradsync-doctor-analyze lists the kinds of files that are read";
  switch (kind) {
    case FileKind::recording:
      return because("it is a recording", "gradsync-doctor analyze reads the folder");
    case FileKind::folder:
      return because("it is a folder with no file in it that is read", known);
    case FileKind::spool:
      return because("it is the spool of one process", "name the recording's folder, two levels up");
    case FileKind::report:
      return because("it is a report", "gradsync-doctor show prints it");
    case FileKind::sqlite:
      return because("it is an SQLite database without the tables of Nsight Systems",
                     "nsys export --type sqlite makes one from a .nsys-rep");
    case FileKind::pack:
      return because("it is an evidence pack", "name it alone: gradsync-doctor analyze PACK");
    case FileKind::archive:
      return because("it is an archive", "unpack it and name the files in it");
    case FileKind::empty:
      return because("it is empty", "");
    case FileKind::json:
      return because("it is JSON without a list of trace events",
                     "traces come from torch.profiler's export_chrome_trace");
    case FileKind::importable:
    case FileKind::unknown:
      break;
  }
  return because("its content is of no known kind", known);
}

Result<void> check_chrome_trace(const std::filesystem::path& path) {
  const Result<Recognised> found = recognise(path);
  if (!found) return found.error();
  if (found->kind != FileKind::importable) return refusal(found->kind, path);
  if (found->format->import == import_chrome_trace) return {};
  return Error{"not a profiler trace", path.string(), "it is a " + std::string(found->format->name), "", 3};
}

}  // namespace gradsync
