#include "src/export/pack.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include "src/base/file.h"
#include "src/export/redact.h"
#include "src/export/tar_header.h"

namespace gradsync {
namespace fs = std::filesystem;
namespace {

constexpr std::array<const char*, 5> kFolders{"hello", "events", "windows", "series", "profiles"};

constexpr const char* kReadme = R"(This is an evidence pack of gradsync-doctor.

  report.md      the report, to be read
  report.json    the same as a document (gradsync-doctor show report.json)
  recording/     what was recorded of the job
  MANIFEST       name and bytes of each file

  gradsync-doctor show PACK, analyze PACK and whatif PACK read it as it is.

Masked, each character with an x: names of users in paths (/home/NAME, and NAME as a folder of any path); values behind
names that end in key, token, secret, password or passwd; who logs in, in addresses (https://NAME:PASSWORD@host).
Of the environment a recording holds settings of the training alone, as NCCL_IB_DISABLE. Host names, command lines, file
names, and names of functions, threads and other programs are in it as they were: look through it before you send it.
)";

// A file's bytes, ours to change: what is changed is never written back.
class PrivateMapping {
 public:
  static Result<PrivateMapping> open(const fs::path& path) {
    const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    struct stat info {};
    if (!file || ::fstat(file.get(), &info) != 0) return failure(path);
    PrivateMapping mapping;
    mapping.size_ = static_cast<std::size_t>(info.st_size);
    if (mapping.size_ == 0) return mapping;
    void* address = ::mmap(nullptr, mapping.size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file.get(), 0);
    if (address == MAP_FAILED) return failure(path);
    mapping.bytes_ = static_cast<char*>(address);
    return mapping;
  }
  PrivateMapping(PrivateMapping&& other) noexcept
      : bytes_(std::exchange(other.bytes_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  PrivateMapping& operator=(PrivateMapping&&) = delete;
  ~PrivateMapping() {
    if (bytes_ != nullptr) ::munmap(bytes_, size_);
  }
  char* bytes() { return bytes_; }
  std::size_t size() const { return size_; }
  std::string_view text() const { return {bytes_, size_}; }

 private:
  PrivateMapping() = default;
  static Error failure(const fs::path& path) { return {"cannot pack", path.string(), errno_text(errno), "", 125}; }
  char* bytes_ = nullptr;
  std::size_t size_ = 0;
};

struct Parts {
  std::vector<fs::path> files;  // below the recording, sorted
  std::uint64_t left_out = 0;
};

Parts parts_of(const fs::path& recording) {
  Parts parts;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(recording, error)) {
    const std::string name = entry.path().filename().string();
    const bool head = name.starts_with("recording") && name.ends_with(".json");
    if (head && fs::is_regular_file(entry.symlink_status(error)))
      parts.files.emplace_back(name);
    else if (std::find(kFolders.begin(), kFolders.end(), name) == kFolders.end())
      ++parts.left_out;
  }
  for (const char* folder : kFolders)
    for (const fs::directory_entry& entry : fs::directory_iterator(recording / folder, error))
      if (fs::is_regular_file(entry.symlink_status(error)))
        parts.files.push_back(fs::path(folder) / entry.path().filename());
      else
        ++parts.left_out;
  std::sort(parts.files.begin(), parts.files.end());
  return parts;
}

class PackWriter {
 public:
  explicit PackWriter(OutputFile& file) : file_(file) {}

  Result<void> folder(const std::string& name) { return header({std::string(kPackFolder) + name, 0, true}); }

  Result<void> entry(const std::string& name, std::string_view bytes) {
    if (Result<void> begun = header({std::string(kPackFolder) + name, bytes.size(), false}); !begun) return begun;
    file_.write(bytes);
    file_.write(std::string((kTarBlock - bytes.size() % kTarBlock) % kTarBlock, '\0'));
    return {};
  }

  Result<void> finish() {
    file_.write(std::string(2 * kTarBlock, '\0'));
    return file_.finish();
  }

 private:
  Result<void> header(const TarEntry& entry) {
    const Result<TarBlock> block = tar_header(entry);
    if (!block) return block.error();
    file_.write({block->data(), block->size()});
    return {};
  }

  OutputFile& file_;
};

}  // namespace

Result<PackTally> write_pack(const fs::path& recording, std::string report_json,
                             const std::function<std::string(const std::string&)>& to_markdown, OutputFile& file) {
  const Parts parts = parts_of(recording);
  PackTally tally{parts.files.size(), 0, 0, parts.left_out};
  Redactor redactor;
  redactor.learn(report_json);
  std::string list;
  for (const fs::path& part : parts.files) {
    const Result<PrivateMapping> mapping = PrivateMapping::open(recording / part);
    if (!mapping) return mapping.error();
    redactor.learn(mapping->text());
    list += fmt::format("{} recording/{}\n", mapping->size(), part.string());
  }
  tally.masked += redactor.mask(report_json.data(), report_json.size());
  const std::string markdown = to_markdown(report_json);
  PackWriter pack(file);
  const auto write_documents = [&]() -> Result<void> {
    if (Result<void> done = pack.folder(""); !done) return done;
    const std::string manifest = fmt::format("{} report.json\n{} report.md\n", report_json.size(), markdown.size());
    for (const auto& [name, text] : std::vector<std::pair<std::string, std::string>>{
             {"README", kReadme}, {"MANIFEST", manifest + list}, {"report.json", report_json}, {"report.md", markdown}})
      if (Result<void> done = pack.entry(name, text); !done) return done;
    if (Result<void> done = pack.folder("recording/"); !done) return done;
    for (const char* folder : kFolders)
      if (Result<void> done = pack.folder(std::string("recording/") + folder + "/"); !done) return done;
    return {};
  };
  if (Result<void> done = write_documents(); !done) return done.error();
  for (const fs::path& part : parts.files) {
    Result<PrivateMapping> mapping = PrivateMapping::open(recording / part);
    if (!mapping) return mapping.error();
    tally.masked += redactor.mask(mapping->bytes(), mapping->size());
    tally.recording_bytes += mapping->size();
    if (Result<void> done = pack.entry("recording/" + part.string(), mapping->text()); !done) return done.error();
  }
  if (Result<void> done = pack.finish(); !done) return done.error();
  return tally;
}

}  // namespace gradsync
