#include "src/commands/open_pack.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "collectors/import/byte_source.h"
#include "collectors/import/recognise.h"
#include "src/base/file.h"
#include "src/base/units.h"
#include "src/commands/exit_status.h"
#include "src/export/tar_header.h"
#include "src/spool_reader/recording.h"

namespace gradsync {
namespace fs = std::filesystem;
namespace {

class Unpacker {
 public:
  Unpacker(ByteSource& source, const fs::path& into, const PackLimits& limits)
      : source_(source), into_(into), limits_(limits) {
    std::error_code unknown;
    const fs::space_info space = fs::space(into, unknown);
    if (!unknown && space.available < limits_.bytes) limits_.bytes = space.available;
  }

  // Why the pack is not used; empty when all of it is there.
  std::string unpack() {
    for (;;) {
      TarBlock block{};
      if (source_.read(block.data(), block.size()) < block.size()) return damage("it ends too early");
      if (is_tar_end(block)) return after_the_end();
      const Result<TarEntry> entry = read_tar_header(block);
      if (!entry) return damage(entry.error().why);
      if (std::string why = make(*entry); !why.empty()) return why;
    }
  }

 private:
  // The sum over all bytes stands behind the last of them; archives are padded to 10 KiB.
  std::string after_the_end() {
    std::string padding(std::size_t{64} << 10, '\0');
    return source_.read(padding.data(), padding.size()) == padding.size() ? "there is more behind its end" : damage("");
  }

  // What the compressed bytes are like says more than what came of them.
  std::string damage(const std::string& why) const {
    const std::string bytes = to_string(source_.damage());
    return bytes.empty() ? why : bytes;
  }

  std::string make(const TarEntry& entry) {
    if (++entries_ > limits_.entries) return "it has more than " + std::to_string(limits_.entries) + " entries";
    if (entry.bytes > limits_.bytes - bytes_)
      return "it holds more than " + format_bytes(static_cast<double>(limits_.bytes)) +
             ", or more than the disk has room for";
    bytes_ += entry.bytes;
    std::error_code error;
    const fs::path path = into_ / entry.name;
    fs::create_directories(entry.folder ? path : path.parent_path(), error);
    if (error) return "cannot make the folder of " + entry.name + ": " + error.message();
    return entry.folder ? "" : copy(entry, path);
  }

  std::string copy(const TarEntry& entry, const fs::path& path) {
    const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file) return errno == EEXIST ? entry.name + " is in it twice" : "cannot write it out: " + errno_text(errno);
    const std::uint64_t padded = (entry.bytes + kTarBlock - 1) / kTarBlock * kTarBlock;
    std::string piece(std::size_t{256} << 10, '\0');
    for (std::uint64_t at = 0; at < padded;) {
      const std::size_t wanted = std::min<std::uint64_t>(piece.size(), padded - at);
      if (source_.read(piece.data(), wanted) < wanted) return damage("it ends within " + entry.name);
      const std::size_t content = std::min<std::uint64_t>(wanted, entry.bytes - std::min(at, entry.bytes));
      if (std::string why = write(file.get(), {piece.data(), content}); !why.empty()) return why;
      at += wanted;
    }
    return "";
  }

  static std::string write(int file, std::string_view text) {
    while (!text.empty()) {
      const ssize_t done = ::write(file, text.data(), text.size());
      if (done < 0 && errno != EINTR) return "cannot write it out: " + errno_text(errno);
      if (done > 0) text.remove_prefix(static_cast<std::size_t>(done));
    }
    return "";
  }

  ByteSource& source_;
  fs::path into_;
  PackLimits limits_;
  std::uint64_t entries_ = 0, bytes_ = 0;
};

}  // namespace

bool is_pack(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return false;
  const Result<Recognised> found = recognise(path);
  return found && found->kind == FileKind::pack;
}

Result<OpenPack> open_pack(const fs::path& path, const PackLimits& limits) {
  Result<ByteSource> source = ByteSource::open(path);
  if (!source) return source.error();
  Result<TemporaryFolder> folder = TemporaryFolder::make("gradsync-pack");
  if (!folder) return folder.error();
  std::string why = Unpacker(*source, folder->path(), limits).unpack();
  fs::path recording = folder->path() / std::string(kPackFolder) / "recording";
  if (why.empty() && !is_recording(recording)) why = "there is no recording in it";
  if (!why.empty())
    return Error{"cannot read the pack", path.string(), why,
                 "ask for it again: gradsync-doctor show --pack FILE RECORDING", exit_status::kNothingUsable};
  return OpenPack{std::move(*folder), std::move(recording)};
}

std::string OpenedPaths::given(const std::string& path) const {
  for (std::size_t i = 0; i < packs.size(); ++i)
    if (packs[i].recording == path) return names[i];
  return path;
}

Result<OpenedPaths> open_packs(const std::vector<std::string>& paths) {
  OpenedPaths opened;
  for (const std::string& path : paths) {
    if (!is_pack(path)) {
      opened.paths.push_back(path);
      continue;
    }
    Result<OpenPack> pack = open_pack(path);
    if (!pack) return pack.error();
    opened.paths.push_back(pack->recording.string());
    opened.packs.push_back(std::move(*pack));
    opened.names.push_back(path);
  }
  return opened;
}

}  // namespace gradsync
